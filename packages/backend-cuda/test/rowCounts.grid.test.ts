import { isFullGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";
import { depthOf, expectUnitProducts, unitTypes } from "./unitProducts.ts";

/** One row, a few, and numbers on both sides of whole tiles. The grids of few and many rows have larger shapes, but fewer numbers for each type. */
const rowCounts = [1, 2, 8, 17, 64, 65];

// A third of the types is the sample of short runs. CI and each night's run have them all.
for (const [i, dtype] of unitTypes.entries())
  test.skipIf(!isFullGrid && i % 3 > 0)(`1 to 65 rows by a ${dtype} weight`, async () => {
    expect.hasAssertions();
    const backend = new CudaBackend(new InterpretedDriver());
    await expectUnitProducts(backend, { dtype, columns: 16, depth: depthOf(dtype, 64), most: 128, rowCounts });
  });
