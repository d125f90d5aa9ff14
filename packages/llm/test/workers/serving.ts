import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";

// Messages of others do not disturb.
globalThis.setTimeout(
  () => serveModels(() => createRuntime({ backends: [wasm({ threads: 1, sync: false })], policy: { force: "wasm" } })),
  20,
);
