// Holds the model and writes stories for popups, which may be closed and opened again.
import { createModelStore } from "@centella/llm/store";

const worker = new Worker("engine.js", { type: "module" });
const stored = openStore();

async function openStore() {
  const file = await fetch("model.gguf");
  return createModelStore(await file.blob(), { worker });
}

chrome.runtime.onConnect.addListener(async (port) => {
  const left = new AbortController();
  port.onDisconnect.addListener(() => left.abort());
  port.onMessage.addListener(({ topic }) => tell(topic, port, left.signal));
  const store = await stored;
  if (left.signal.aborted) return;
  const report = () => {
    const { status, backend, error } = store.getSnapshot();
    port.postMessage({ status: [status, backend, error].filter(Boolean).join(" ") });
  };
  left.signal.addEventListener("abort", store.subscribe(report));
  report();
});

async function tell(topic, port, signal) {
  try {
    const model = await (await stored).load();
    const parts = model.createSession().generate(`Tell me a story about ${topic}.`, { maxTokens: 200, signal });
    for await (const part of parts) if (part.type === "text") port.postMessage({ text: part.text });
  } catch (error) {
    if (!signal.aborted) port.postMessage({ status: String(error) });
  }
}
