import { describeBackend } from "@centella/core/testing";
import { wasm } from "../src/index.ts";

describeBackend("wasm", () => wasm().open());
describeBackend("wasm", () => wasm({ relaxed: false }).open());
