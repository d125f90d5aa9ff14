import { describeBackend } from "@centella/conformance";
import { wasm } from "../src/index.ts";

// Guard bytes around outputs: a kernel that writes outside its output fails.
describeBackend("wasm", () => wasm({ checkWrites: true }).open());
describeBackend("wasm", () => wasm({ relaxed: false, checkWrites: true }).open());
