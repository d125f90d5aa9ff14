import { type ConformanceTest, conformanceSample, describeBackend } from "@centella/conformance";
import { isFullGrid, isWholeGrid } from "@centella/test-devices";
import { openGuarded } from "./openBackend.ts";

// What every device has. `features.grid.test.ts` runs the kernels that differ where there is more, Chromium a sample without the guards.
const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product"] as const;

const sample = conformanceSample(isFullGrid ? "large" : "small");

/** Defines some of the conformance tests, on a device that looks for writes outside of outputs. */
export function describeConformance(tests: readonly ConformanceTest[]): void {
  describeBackend("webgpu", () => openGuarded({ disabledFeatures }), { tests, filter: (id) => isWholeGrid || sample.has(id) });
}
