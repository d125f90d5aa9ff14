import type { ConcreteSpec } from "@centella/core";
import { type Lowered, type Persistent, tupleOf, usesOf } from "@centella/core/backend";
import { traitsOf } from "../kernels/traits.ts";
import { outer } from "../matmul/outer.ts";

const { tileColumns } = outer;

/**
 * Whether to store a persistent in panels: an f32 matrix `[k, n]` that all programs only use as the right operand of
 * products.
 */
export function choosePacking(persistent: Persistent, programs: readonly Lowered[]): boolean {
  const isUsed = programs.some(({ persistents }) => persistents.some(({ name }) => name === persistent.name));
  return isUsed && programs.every((lowered) => isReadablePacked(persistent, lowered));
}

/** Whether every use in a program can read panels. */
export function isReadablePacked({ name, spec: { dtype, shape } }: Persistent, lowered: Lowered): boolean {
  const storage = lowered.persistents.find((used) => used.name === name)?.storage;
  if (dtype !== "f32" || shape.length !== 2 || lowered.outputs.some(({ operand }) => operand.storage === storage)) return false;
  if (storage === undefined) return true;
  return usesOf(lowered, storage).every(
    ({ op, input, params, spec }) => spec.shape.join() === shape.join() && traitsOf(op).layoutOf?.(input, params) === "packed",
  );
}

/** Writes whole rows of a matrix `[k, n]`, starting with row `first`, to its panels. */
export function writePacked(rows: Float32Array, first: number, { shape }: ConcreteSpec, panels: Float32Array): void {
  const [k, n] = tupleOf(shape, 2);
  const count = rows.length / n;
  for (let column = 0; column < n; column += tileColumns) {
    const width = Math.min(tileColumns, n - column);
    for (let row = 0, to = column * k + first * tileColumns; row < count; row++, to += tileColumns) {
      for (let i = 0, from = row * n + column; i < width; i++) panels[to + i] = rows[from + i]!;
    }
  }
}
