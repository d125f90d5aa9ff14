import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, type Value } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import { type BlockType, ggmlTypes, isGgmlType } from "@centella/quant";
import { expect } from "vitest";
import { unitFormat } from "../../src/weights/unitFormat.ts";
import { extremeWeights } from "./extremeWeights.ts";
import { expectProducts, productsOf } from "./productBounds.ts";

/** Options of products whose weights are stored in units. */
export const half = { transposeB: true, activations: "half" } as const;

export type UnitType = Exclude<BlockType, "q8_1" | "q8_K"> | "f16" | "bf16";

/** Types of weights that are stored in units. */
export const unitTypes: readonly UnitType[] = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is UnitType => unitFormat(type as DType) !== undefined);

/** `depth`, or for types with large blocks about half of it, in whole blocks. */
export function depthOf(dtype: UnitType, depth: number): number {
  return layoutOf(dtype).elements > 32 ? 256 * Math.ceil(depth / 512) : depth;
}

/** A weight, and the numbers of rows that it is multiplied with. */
export interface UnitProduct {
  readonly dtype: UnitType;
  readonly columns: number;
  readonly depth: number;
  /** Most rows of the program. */
  readonly most: number;
  readonly rowCounts: readonly number[];
}

/** @throws unless the products of a weight with each number of rows are exact. Disposes of the backend. */
export async function expectUnitProducts(backend: Backend, { dtype, columns, depth, most, rowCounts }: UnitProduct): Promise<void> {
  const { stored, decoded, spec } = contentsOf({ dtype, shape: [columns, depth] }, 3);
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", most), depth]);
  program.output("y", program.matmul(x, program.persistent("w", spec), half));
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(stored));
  for (const rows of rowCounts) {
    const values = uniform(rows, rows * depth);
    expectProducts(await plan.run({ x: values }).y!.data(), values, decoded, depth, dtype);
  }
  await backend.dispose();
}

/** @throws unless products with weights as large and as small as the type holds are exact. Disposes of the backend. */
export async function expectExtremeProducts(backend: Backend, dtype: Parameters<typeof extremeWeights>[0]): Promise<void> {
  const [columns, depth, rows] = [35, 256, 33];
  const { spec, stored, decoded } = extremeWeights(dtype, [columns, depth]);
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 64), depth]);
  program.output("y", program.matmul(x, program.persistent("w", spec), half));
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(stored));
  // The results of most rows are one product each: errors do not cancel.
  const values = uniform(rows, rows * depth).map((value, i) => (i < depth || i % depth === 7 * Math.floor(i / depth) ? value : 0));
  expectProducts(await plan.run({ x: values }).y!.data(), values, decoded, depth, dtype);
  await backend.dispose();
}

/** @throws unless `h` is `silu(x gate) * (x up)`, as exactly as operands in f16 make it */
export function expectGated(h: ArrayLike<number>, x: Float32Array, gate: ArrayLike<number>, up: ArrayLike<number>, depth: number): void {
  const [gates, ups] = [productsOf(x, gate, depth), productsOf(x, up, depth)];
  expect(h.length).toBe(gates.length);
  for (const [i, { value: a, magnitude: wide }] of gates.entries()) {
    const { value: b, magnitude } = ups[i]!;
    const silu = a / (1 + Math.exp(-a));
    const bound = 2 ** -10 * (1.1 * wide * Math.abs(b) + Math.abs(silu) * magnitude + wide * magnitude * 2 ** -9);
    if (!(Math.abs(h[i]! - silu * b) <= bound)) expect.fail(`element ${i}: ${h[i]}, expected ${silu * b}`);
  }
}

/** Products of one tensor with five weights: plain, with a bias and with a residual, and of two weights as gate and up. */
export class ProductsOfOneTensor {
  readonly program = createProgram();
  readonly #contents;
  readonly #depth: number;

  /** `most` is the maximum number of rows. */
  constructor(up: DType, depth: number, most: number) {
    const weights = { q: ["q4_K", 48], k: ["q8_0", 19], v: ["q6_K", 19], gate: ["q5_K", 40], up: [up, 40] } as const;
    this.#contents = Object.entries(weights).map(([name, [dtype, n]]) => ({ name, ...contentsOf({ dtype, shape: [n, depth] }, n) }));
    this.#depth = depth;
    const { program } = this;
    const rowCount = program.dim("T", most);
    const x = program.input("x", "f32", [rowCount, depth]);
    const [q, k, v, gate, second] = this.#contents.map(({ name, spec }) => program.matmul(x, program.persistent(name, spec), half)) as [
      Value,
      Value,
      Value,
      Value,
      Value,
    ];
    program.output("q", q);
    program.output("k", program.add(k, program.input("bias", "f32", [19])));
    program.output("v", program.add(v, program.input("residual", "f32", [rowCount, 19])));
    program.output("h", program.mul(program.silu(gate), second));
  }

  /** @throws unless the results for each number of rows are right. Disposes of the backend. */
  async expectOn(backend: Backend, rowCounts: readonly number[]): Promise<void> {
    const [contents, depth] = [this.#contents, this.#depth];
    const plan = await backend.compile(this.program);
    for (const { name, stored } of contents) await plan.load(name, sourceOf(stored));
    for (const rows of rowCounts) {
      const values = uniform(rows, rows * depth);
      const [bias, residual] = [uniform(5, 19), uniform(6, rows * 19)];
      const outputs = plan.run({ x: values, bias, residual });
      const of = async (name: string): Promise<Float32Array> => (await outputs[name]!.data()) as Float32Array;
      const [h, added] = [await of("h"), { k: await of("k"), v: await of("v") }];
      const plain = { q: await of("q"), k: added.k.map((y, i) => y - bias[i % 19]!), v: added.v.map((y, i) => y - residual[i]!) };
      for (const { name, decoded, spec } of contents.slice(0, 3))
        expectProducts(plain[name as keyof typeof plain], values, decoded as Float32Array, depth, spec.dtype, 1e-5);
      const [gates, ups] = contents.slice(3).map(({ decoded }) => decoded) as [Float32Array, Float32Array];
      expectGated(h, values, gates, ups, depth);
    }
    await backend.dispose();
  }
}
