import { contentsOf, uniform } from "@centella/conformance";
import { type Activations, type Backend, createProgram, type DType, reference } from "@centella/core";
import { type GgmlType, ggmlTypes, isBlockType, isDequantizable } from "@centella/quant";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

const blockTypes = (Object.keys(ggmlTypes) as GgmlType[]).filter(isBlockType).filter(isDequantizable);

/** Numbers of rows on both sides of the limits between kernels: one row, up to 8 (16 of floats), up to 64, and more. */
const counts = [1, 2, 8, 9, 16, 17, 64, 65];

/** Products with each number of rows, on the device and on the reference. */
async function largestDifference(
  backend: Backend,
  dtype: DType,
  counts: readonly number[],
  activations: Activations = "ggml",
): Promise<number> {
  const [n, k] = [131, 512];
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", Math.max(...counts)), k]);
  const weight = program.constant(contentsOf({ dtype, shape: [n, k] }, 3).stored, dtype, [n, k]);
  program.output("y", program.matmul(x, weight, { transposeB: true, activations }));
  const plans = [await backend.compile(program), await (await reference().open()).compile(program)];
  let worst = 0;
  for (const rows of counts) {
    const [got, want] = await Promise.all(plans.map((plan) => plan.run({ x: uniform(rows, rows * k) }).y!.data()));
    want!.forEach((value, i) => {
      worst = Math.max(worst, Math.abs(value - got![i]!));
    });
  }
  for (const plan of plans) plan.dispose();
  return worst;
}

/** ggml adds up activations for the minima of these types in f16. */
const tolerance = (dtype: DType): number => (dtype === "q4_1" || dtype === "q5_1" ? 0.03 : 2e-5);

await describeOpened("products with any number of rows", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  test.each(isWholeGrid ? blockTypes : (["q4_K"] as const))("of packed integers, with %s weights", async (dtype) => {
    expect(await largestDifference(backend, dtype, counts)).toBeLessThan(tolerance(dtype));
  });

  // One stored form that is decoded when it is loaded, and one whose elements are halves.
  test.each(isWholeGrid ? (["f32", "f16", "bf16", ...blockTypes] as const) : (["f16", "q4_K", "iq3_s"] as const))(
    "of floats, with %s weights",
    async (dtype) => {
      for (const activations of ["f32", "half"] as const)
        expect(await largestDifference(backend, dtype, counts, activations), activations).toBeLessThan(1e-4);
    },
  );

  test.each(isWholeGrid ? (["f16", "q4_K"] as const) : (["f16"] as const))(
    "of floats, with %s weights in several slices of the depth",
    async (dtype) => {
      expect(await largestDifference(backend, dtype, [9, 17], "f32")).toBeLessThan(1e-4);
    },
  );

  test("of packed integers without subgroups", async () => {
    const other = await openBackend({ disabledFeatures: ["subgroups"] });
    expect(await largestDifference(other.backend, "q6_K", [1, 3])).toBeLessThan(tolerance("q6_K"));
    await other.backend.dispose();
  });
});
