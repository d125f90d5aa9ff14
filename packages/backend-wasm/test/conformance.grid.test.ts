import { conformanceSample, describeBackend } from "@centella/conformance";
import { isWholeGrid } from "@centella/test-devices";
import { wasm } from "../src/index.ts";

const sample = conformanceSample("large");

// Guard bytes around outputs: a kernel that writes outside its output fails.
describeBackend("wasm", () => wasm({ checkWrites: true }).open());
describeBackend("wasm", () => wasm({ relaxed: false, checkWrites: true }).open(), {
  filter: (id) => isWholeGrid || sample.has(id),
});
