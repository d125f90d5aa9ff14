import { describeBackend } from "@centella/conformance";
import { isFullGrid } from "@centella/test-devices";
import { openGuarded } from "./openBackend.ts";

// What every device has. `features.grid.test.ts` runs the kernels that differ where there is more, Chromium a sample without the guards.
const disabledFeatures = ["subgroups", "shader-f16", "packed_4x8_integer_dot_product"] as const;

describeBackend("webgpu", () => openGuarded({ disabledFeatures }), { isSample: !isFullGrid });
