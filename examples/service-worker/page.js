import { offerWorker } from "@centella/server/service-worker";
import OpenAI from "openai";

offerWorker(new Worker("models.js", { type: "module" }));

const { serviceWorker } = navigator;
const controlled = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
await serviceWorker.register("serviceWorker.js", { type: "module" });
if (serviceWorker.controller === null) await controlled;

// The client asks again while the model is loading, which is status 503.
const client = new OpenAI({ baseURL: `${location.origin}/v1`, apiKey: "none", dangerouslyAllowBrowser: true, maxRetries: 10 });
const stream = client.chat.completions.stream({
  model: "story",
  messages: [{ role: "user", content: "Tell me a story about a fox." }],
  max_tokens: 60,
  temperature: 0,
});
const story = document.querySelector("#story");
stream.on("content", (text) => story.append(text));
await stream.done();
story.dataset.isDone = "true";
