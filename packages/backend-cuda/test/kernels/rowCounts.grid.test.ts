import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { depthOf, expectUnitProducts, unitTypes } from "./unitProducts.ts";

/** One row, a few, and numbers on both sides of whole tiles. The grids of few and many rows have larger shapes, but fewer numbers for each type. */
const rowCounts = [1, 2, 8, 17, 64, 65];

/** With products of warpgroups first. The others have those of warps alone: two with copies piece by piece, and two sizes of shared memory. */
const capabilities = [
  [9, 0],
  [8, 0],
  [8, 6],
  [10, 0],
  [12, 0],
] as const;

for (const [i, dtype] of unitTypes.entries())
  for (const [j, capability] of capabilities.entries()) {
    const isInSample = j === 0 ? i % 3 === 0 : i % 14 === 3 * j;
    // Each takes some seconds, so the sample has a third of the types, and two for each of the other devices. The whole grid, each night, has all.
    test.skipIf(!(isWholeGrid || isInSample))(`1 to 65 rows by a ${dtype} weight, capability ${capability.join(".")}`, async () => {
      expect.hasAssertions();
      const backend = new CudaBackend(new InterpretedDriver(capability));
      await expectUnitProducts(backend, { dtype, columns: 16, depth: depthOf(dtype, 64), most: 128, rowCounts });
    });
  }
