import { type ConformanceTest, conformanceSample, describeBackend } from "@centella/conformance";
import { isWholeGrid } from "@centella/test-devices";
import { openBackend } from "../support/openBackend.ts";

// What every device has. `features.grid.test.ts` runs the kernels that differ where there is more, Chromium the same tests without the guards.
const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product"] as const;

const sample = conformanceSample();

/** Defines some of the conformance tests, on a device that looks for writes outside of outputs. */
export function describeConformance(tests: readonly ConformanceTest[]): void {
  describeBackend("webgpu", async () => (await openBackend({ disabledFeatures })).backend, {
    tests,
    filter: (id) => isWholeGrid || sample.has(id),
  });
}
