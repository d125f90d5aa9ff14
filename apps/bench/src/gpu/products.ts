import type { Activations, TypedArray } from "@centella/core";
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
  /** Default: the mode of models. */
  readonly mode?: Activations;
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
    { type: "q4_K", m: 1, n: 8192, k: 8192, mode: "f32" },
    ...(["q4_K", "f16"] as const).map((type) => ({ type, m: 512, n: 4096, k: 4096 })),
    { type: "f16", m: 512, n: 28672, k: 4096 },
    { type: "f32", m: 4096, n: 4096, k: 4096 },
    { type: "f16", m: 4096, n: 4096, k: 4096 },
    { type: "f16", m: 8192, n: 8192, k: 8192 },
  ],
  tiny: [
    ...[...types, "f32" as const].flatMap((type) => [1, 3].map((m) => ({ type, m, n: 16, k: 256 }))),
    { type: "q4_K", m: 1, n: 16, k: 256, mode: "f32" },
  ],
};

/** Most rows that all calls of a run share. In a model, the launch before has just written so few: they are in the caches, and weights are not. */
const maxSharedRows = 64;

/** Matrix products `x [m, k]` times weights `[n, k]`, in the mode of activations of models. */
export function productKernels(scale: Scale, modeOf: ModeOf): readonly GpuKernel[] {
  return products[scale].map(({ type, m, n, k, mode }): GpuKernel => {
    const activations = mode ?? modeOf(type);
    const isPlain = type === "f16" || type === "f32";
    const isShared = m <= maxSharedRows;
    return {
      group: "products",
      name: `${type} ${n}×${k}, ${rowCount(m)}${mode === undefined ? "" : `, ${mode} mode`}`,
      bytes: weightBytes(type, n, k) + 4 * m * (k + n),
      flops: 2 * m * n * k,
      unit: type === "f32" ? "f32" : "tensor",
      operands: () => [
        { spec: { dtype: "f32", shape: [m, k] }, data: uniform(m, m * k), isShared },
        { spec: { dtype: type, shape: [n, k] }, data: weights(type, n, k) },
      ],
      call: (program, [x, w]) => program.matmul(x!, w!, { transposeB: true, activations }),
      sample([x, w]) {
        const [rows, columns] = [spread(m, 4), spread(n, 32)];
        const at = (index: number): number => rows[Math.floor(index / columns.length)]! * n + columns[index % columns.length]!;
        return { operands: [rowsOf(x!, rows), rowsOf(w!, columns)], at };
      },
      limit: limits[activations],
      ...(isPlain && { peer: { op: "matmul", m, n, k, dtype: type, isShared } }),
    };
  });
}

/** Experts of a layer, of which each row of the activations is multiplied with some. */
interface Experts {
  readonly m: number;
  readonly experts: number;
  readonly chosen: number;
  readonly n: number;
  readonly k: number;
}

/** Layers of Qwen3-30B-A3B: one decoded token, several sequences, a prompt. */
const expertLayers: Readonly<Record<Scale, readonly Experts[]>> = {
  full: [1, 8, 512].flatMap((m) =>
    [
      { n: 768, k: 2048 },
      { n: 2048, k: 768 },
    ].map((shape) => ({ m, experts: 128, chosen: 8, ...shape })),
  ),
  tiny: [1, 3].map((m) => ({ m, experts: 4, chosen: 2, n: 16, k: 256 })),
};

/** Products of each row with the matrices of its chosen experts, as models with experts compute them. */
export function expertKernels(scale: Scale, modeOf: ModeOf): readonly GpuKernel[] {
  return expertLayers[scale].map(({ m, experts, chosen, n, k }): GpuKernel => {
    const activations = modeOf("q4_K");
    const idOf = (i: number): number => (i * 7 + Math.floor(i / experts)) % experts;
    return {
      group: "products",
      name: `q4_K ${chosen} of ${experts} experts ${n}×${k}, ${rowCount(m)}`,
      bytes: Math.min(experts, m * chosen) * weightBytes("q4_K", n, k) + 4 * m * (k + chosen * (n + 1)),
      flops: 2 * m * chosen * n * k,
      unit: "tensor",
      operands: () => [
        { spec: { dtype: "f32", shape: [m, k] }, data: uniform(m, m * k), isShared: m <= maxSharedRows },
        { spec: { dtype: "q4_K", shape: [experts, n, k] }, data: weights("q4_K", experts * n, k) },
        { spec: { dtype: "i32", shape: [m, chosen] }, data: Int32Array.from({ length: m * chosen }, (_, i) => idOf(i)) },
      ],
      call: (program, [x, w, ids]) => program.moeMatmul(x!, w!, ids!, { activations }),
      sample([x, w, ids]) {
        // The last row, and its experts alone.
        const own = Array.from({ length: chosen }, (_, i) => i);
        const wanted = own.map((i) => Number(ids!.data[(m - 1) * chosen + i]));
        const renumbered = { spec: { dtype: "i32", shape: [1, chosen] }, data: Int32Array.from(own) } as const;
        return { operands: [rowsOf(x!, [m - 1]), rowsOf(w!, wanted), renumbered], at: (index) => (m - 1) * chosen * n + index };
      },
      limit: limits[activations],
    };
  });
}

function rowCount(m: number): string {
  return `${m} ${m === 1 ? "row" : "rows"}`;
}

function weightBytes(type: ProductType, n: number, k: number): number {
  return type === "f32" ? 4 * n * k : n * rowBytes(type, k);
}

function weights(type: ProductType, n: number, k: number): TypedArray {
  const seed = seedOf(`${type} ${n} ${k}`);
  if (type === "f32") return uniform(seed, n * k);
  return new (typedArrayOf(type))(randomBlocks(type, n * k, seed, 1 / Math.sqrt(k)).buffer);
}
