import type { TypedArray } from "@centella/core";
import { typedArrayOf } from "@centella/core/backend";
import { rowBytes } from "@centella/quant";
import { randomBlocks, type WeightType } from "../model/blocks.ts";
import { seedOf, uniform } from "../stats/random.ts";
import { type GpuKernel, limits, type ModeOf, rowsOf, type Scale, spread } from "./kernel.ts";

type ProductType = WeightType | "f32";

interface Product {
  readonly type: ProductType;
  /** Rows of the activations. */
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

const types: readonly WeightType[] = ["q4_K", "q6_K", "q8_0", "f16"];

/** Shapes of one decoded token and of prompts, those of models with 8 billion weights; a square one for several rows; plain matrices. */
const products: Readonly<Record<Scale, readonly Product[]>> = {
  full: [
    ...[
      { n: 28672, k: 4096 },
      { n: 4096, k: 14336 },
      { n: 128256, k: 4096 },
    ].flatMap((shape) => types.map((type) => ({ type, m: 1, ...shape }))),
    ...[6144, 4096].map((n) => ({ type: "q4_K", m: 1, n, k: 4096 }) as const),
    ...[512, 2048, 4096].map((m) => ({ type: "q4_K", m, n: 28672, k: 4096 }) as const),
    ...types.flatMap((type) => [1, 16, 64, 512, 4096].map((m) => ({ type, m, n: 8192, k: 8192 }))),
    { type: "f32", m: 4096, n: 4096, k: 4096 },
    { type: "f16", m: 4096, n: 4096, k: 4096 },
    { type: "f16", m: 8192, n: 8192, k: 8192 },
  ],
  tiny: [...types, "f32" as const].flatMap((type) => [1, 3].map((m) => ({ type, m, n: 16, k: 256 }))),
};

/** Matrix products `x [m, k]` times weights `[n, k]`, in the mode of activations of models. */
export function productKernels(scale: Scale, modeOf: ModeOf): readonly GpuKernel[] {
  return products[scale].map(({ type, m, n, k }): GpuKernel => {
    const activations = modeOf(type);
    const isPlain = type === "f16" || type === "f32";
    return {
      group: "products",
      name: `${type} ${n}×${k}, ${m} ${m === 1 ? "row" : "rows"}`,
      bytes: weightBytes(type, n, k) + 4 * m * (k + n),
      flops: 2 * m * n * k,
      unit: type === "f32" ? "f32" : "tensor",
      operands: () => [
        { spec: { dtype: "f32", shape: [m, k] }, data: uniform(m, m * k) },
        { spec: { dtype: type, shape: [n, k] }, data: weights(type, n, k) },
      ],
      call: (program, [x, w]) => program.matmul(x!, w!, { transposeB: true, activations }),
      sample([x, w]) {
        const [rows, columns] = [spread(m, 4), spread(n, 32)];
        const at = (index: number): number => rows[Math.floor(index / columns.length)]! * n + columns[index % columns.length]!;
        return { operands: [rowsOf(x!, rows), rowsOf(w!, columns)], at };
      },
      limit: limits[activations],
      ...(isPlain && { peer: { op: "matmul", m, n, k, dtype: type } }),
    };
  });
}

function weightBytes(type: ProductType, n: number, k: number): number {
  return type === "f32" ? 4 * n * k : n * rowBytes(type, k);
}

function weights(type: ProductType, n: number, k: number): TypedArray {
  const seed = seedOf(`${type} ${n} ${k}`);
  if (type === "f32") return uniform(seed, n * k);
  return new (typedArrayOf(type))(randomBlocks(type, n * k, seed, 1 / Math.sqrt(k)).buffer);
}
