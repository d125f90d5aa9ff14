// A worker that loads models and generates.
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";

// Pages of extensions may not start workers from blobs, as threads need them.
serveModels(() => createRuntime({ backends: [webgpu(), wasm({ sync: false, threads: 1 })] }));
