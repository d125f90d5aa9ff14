import { describeBackend } from "@centella/conformance";
import { isFullGrid } from "@centella/test-devices";
import { openGuarded } from "./openBackend.ts";

// Chromium runs a sample, and all whole programs, without the guards.
describeBackend("webgpu", openGuarded, { isSample: !isFullGrid });
