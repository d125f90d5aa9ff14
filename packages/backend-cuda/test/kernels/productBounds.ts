import type { DType } from "@centella/core";
import { expect } from "vitest";

/** Row by row products of `x [rows, depth]` and `w [columns, depth]`, and the sums of their terms' magnitudes. */
export function productsOf(
  x: Float32Array,
  w: ArrayLike<number>,
  depth: number,
): readonly { readonly value: number; readonly magnitude: number }[] {
  const [rows, columns] = [x.length / depth, w.length / depth];
  return Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns) * depth, (i % columns) * depth];
    let [value, magnitude] = [0, 0];
    for (let k = 0; k < depth; k++) {
      const term = x[row + k]! * w[column + k]!;
      value += term;
      magnitude += Math.abs(term);
    }
    return { value, magnitude };
  });
}

/** @throws unless the results are as exact as operands in f16 (bf16) make them */
export function expectProducts(
  got: ArrayLike<number>,
  x: Float32Array,
  w: ArrayLike<number>,
  depth: number,
  dtype: DType,
  slack = 1e-30,
): void {
  const bound = dtype === "bf16" ? 2 ** -7 : 2 ** -10;
  const want = productsOf(x, w, depth);
  expect(got.length).toBe(want.length);
  const worst = want.map(({ value, magnitude }, i) => Math.abs(got[i]! - value) - bound * magnitude - slack);
  const first = worst.findIndex((excess) => !(excess <= 0));
  expect(first < 0 ? "within the bound" : `element ${first}: ${got[first]}, expected ${want[first]!.value}`).toBe("within the bound");
}
