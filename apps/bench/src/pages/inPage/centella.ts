import { loadModel } from "@centella/llm/worker";
import { TimedSession } from "../../models/timedSession.ts";
import { expose } from "../benchPage.ts";

let session: TimedSession | undefined;

function loaded(): TimedSession {
  if (session === undefined) throw new Error("bench: expected a loaded model, got none; call load first");
  return session;
}

expose({
  async load(contextLength, threads) {
    const start = performance.now();
    const worker = new Worker("/engine.js", { type: "module", name: String(threads) });
    const model = await loadModel(new URL("/model.gguf", location.href).href, { worker, contextLength });
    session = new TimedSession(model.createSession(), model.info.vocabSize);
    return (performance.now() - start) / 1e3;
  },
  firstToken: (prompt) => loaded().prefill(prompt),
  prefill: (ids) => loaded().prefill(ids),
  decode: (prompt, tokens) => loaded().decode(prompt, tokens),
});
