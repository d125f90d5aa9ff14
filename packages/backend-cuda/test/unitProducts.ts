import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import { type BlockType, ggmlTypes, isGgmlType } from "@centella/quant";
import { expect } from "vitest";
import { unitFormat } from "../src/weights/unitFormat.ts";
import { extremeWeights } from "./extremeWeights.ts";
import { expectProducts, productsOf } from "./productBounds.ts";

/** Options of products whose weights are stored in units. */
export const half = { transposeB: true, activations: "half" } as const;

export type UnitType = BlockType | "f16" | "bf16";

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
