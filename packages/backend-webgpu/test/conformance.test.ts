import { describeBackend } from "@centella/core/testing";
import { openGuarded } from "./openBackend.ts";

// Chromium runs a sample, and all whole programs, without the guards.
describeBackend("webgpu", openGuarded);
