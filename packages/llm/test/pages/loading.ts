// What `pageSources.test.ts` evaluates calls these.
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "../../src/index.ts";
import { loadModel as loadInWorker } from "../../src/worker/index.ts";

Object.assign(globalThis, { createRuntime, wasm, loadModel, loadInWorker });
