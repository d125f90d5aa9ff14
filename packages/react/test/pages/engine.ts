import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";

serveModels(() => createRuntime({ backends: [wasm({ threads: 1, sync: false })], policy: { force: "wasm" } }));
