import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";

// The page names the worker by its number of threads.
serveModels(() => createRuntime({ backends: [wasm({ threads: Number(self.name), sync: false })] }));
