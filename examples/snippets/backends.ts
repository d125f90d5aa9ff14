import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

// The first backend that this machine has and that pays off computes.
const runtime = await createRuntime({ backends: [cuda(), webgpu(), wasm()] });
const model = await loadModel("model.gguf", { runtime });
console.log(model.info.backend, model.info.backendReason);
await runtime.dispose();
