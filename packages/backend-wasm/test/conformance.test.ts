import { describeBackend } from "@centella/conformance";
import { wasm } from "../src/index.ts";

// Guard bytes around the outputs: a kernel that writes beside its own fails.
describeBackend("wasm", () => wasm({ checkWrites: true }).open());
describeBackend("wasm", () => wasm({ relaxed: false, checkWrites: true }).open());
