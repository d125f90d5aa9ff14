import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { generatePtx } from "../../src/generatePtx.ts";
import { chooseSplit } from "../../src/kernels/products/mixedInput/chooseSplit.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { extremeTypes } from "./extremeWeights.ts";
import { depthOf, expectExtremeProducts, expectUnitProducts, ProductsOfOneTensor, type UnitProduct, unitTypes } from "./unitProducts.ts";

function open(): CudaBackend {
  return new CudaBackend(new InterpretedDriver());
}

// 3 multiprocessors: blocks share the tiles of the larger shape, which has two tiles of rows. The smaller one has parts of tiles, of panels and of units.
const larger = { columns: 300, depth: 768, most: 512, rowCounts: [257] };
const smaller = { columns: 19, depth: 288, most: 128, rowCounts: [9, 65] };
const few = { columns: 260, depth: 1024, most: 16, rowCounts: [9, 16] };
const grid = unitTypes.flatMap((dtype) => [larger, smaller, few].map((shape) => ({ ...shape, dtype, depth: depthOf(dtype, shape.depth) })));
/** Types and shapes whose kernels differ most. The whole grid takes minutes. */
const sample: readonly UnitProduct[] = [
  { dtype: "f16", columns: 140, depth: 576, most: 16, rowCounts: [9] },
  // Rings have no room for as many units in a copy as there are in the depth.
  { dtype: "bf16", columns: 256, depth: 512, most: 64, rowCounts: [33] },
  { dtype: "q4_K", columns: 19, depth: 256, most: 128, rowCounts: [65] },
  // Four warpgroups of a block.
  { dtype: "q4_K", columns: 1024, depth: 256, most: 16, rowCounts: [9] },
  { dtype: "q8_0", columns: 150, depth: 512, most: 32, rowCounts: [17] },
  { dtype: "q6_K", columns: 20, depth: 256, most: 512, rowCounts: [257] },
];

test.each(isWholeGrid ? grid : sample)("$rowCounts rows by a $dtype weight of $columns x $depth", (product) =>
  expectUnitProducts(open(), product),
);

test.each(extremeTypes)("weights of %s may be as large and as small as the type holds", (dtype) => expectExtremeProducts(open(), dtype));

test("products of one tensor are multiplied together, with their epilogues", async () => {
  const products = new ProductsOfOneTensor("q5_K", 256, 64);
  expect(generatePtx(products.program).every(({ entry }) => /^(roundRows|matmulMixed)/.test(entry))).toBe(true);
  await products.expectOn(open(), [33]);
});

test("four warpgroups decode tiles that are many or deep enough, of few rows", () => {
  const warpgroups = (columns: number, copies: number, work: { readonly perTile: number; readonly isDecoded: boolean }): number =>
    chooseSplit(132, { copies, depth: 256, ...work }, (count) => columns / (64 * count)).warpgroups;
  const few = { perTile: 16, isDecoded: true };
  expect([warpgroups(28672, 16, few), warpgroups(8192, 32, few)]).toEqual([4, 4]);
  expect([warpgroups(4096, 16, few), warpgroups(6144, 16, few), warpgroups(4096, 56, few)]).toEqual([2, 2, 2]);
  expect(warpgroups(28672, 16, { ...few, perTile: 32 })).toBe(2);
  expect(warpgroups(28672, 16, { ...few, isDecoded: false })).toBe(2);
});
