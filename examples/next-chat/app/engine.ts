// A worker that loads models and generates, so that the page stays responsive.
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";

serveModels(() => createRuntime({ backends: [webgpu(), wasm({ sync: false })] }));
