// The utility process: loads the model and writes stories for windows.
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { createModelStore } from "@centella/llm/store";
import { fable } from "@centella/model-fable"; // or the path of any GGUF file, or "hf:owner/repo:Q4_K_M"

const store = createModelStore(fable, { runtime: () => createRuntime({ backends: [wasm()] }) });

process.parentPort.on("message", ({ ports: [port] }) => {
  const left = new AbortController();
  const report = () => {
    const { status, backend, error } = store.getSnapshot();
    port.postMessage({ status: [status, backend, error].filter(Boolean).join(" ") });
  };
  left.signal.addEventListener("abort", store.subscribe(report));
  port.on("close", () => left.abort());
  port.on("message", ({ data: { topic } }) => tell(topic, port, left.signal));
  port.start();
  report();
});

async function tell(topic, port, signal) {
  try {
    const model = await store.load();
    const parts = model.createSession().generate(`Tell me a story about ${topic}.`, { maxTokens: 200, signal });
    for await (const part of parts) if (part.type === "text") port.postMessage({ text: part.text });
  } catch (error) {
    if (!signal.aborted) port.postMessage({ status: String(error) });
  }
}
