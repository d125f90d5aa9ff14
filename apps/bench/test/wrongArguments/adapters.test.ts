import * as aiSdk from "@centella/ai-sdk";
import * as aiSdkV3 from "@centella/ai-sdk/v3";
import { createRuntime } from "@centella/core";
import * as langchain from "@centella/langchain";
import { loadModel } from "@centella/llm";
import * as store from "@centella/llm/store";
import { fable } from "@centella/model-fable";
import * as promptApi from "@centella/prompt-api";
import * as react from "@centella/react";
import * as chat from "@centella/react/chat";
import { test } from "vitest";
import { callExports, excused } from "./harness.ts";
import { whole } from "./values.ts";

test("adapters to other libraries: wrong arguments are typed errors", async () => {
  await using runtime = await createRuntime({ backends: [] });
  await using model = await loadModel(fable, { runtime, contextLength: 32 });
  const provider = { models: whole({ story: "story.gguf" }), runtime: whole(runtime), defaults: whole({ temperature: 0 }) };
  const calls = { createCentella: [provider], centellaModel: [whole(model), whole({ temperature: 0 })] };
  await callExports("ai-sdk", aiSdk, calls);
  await callExports("ai-sdk/v3", aiSdkV3, calls);
  await callExports("langchain", langchain, {
    CentellaEmbeddings: [{ model: whole(model) }],
    CentellaRerank: [{ model: whole(model), topN: 1 }],
    ChatCentella: [{ model: whole(model) }],
  });
  await callExports("llm/store", store, { createModelStore: ["story.gguf", { runtime: whole(runtime), contextLength: 32 }] });
  await callExports("prompt-api", promptApi, {
    createLanguageModel: [{ model: whole(model), defaults: whole({ seed: 1 }), languages: ["en"] }],
    polyfill: excused("it changes the global; packages/prompt-api/test has wrong arguments"),
  });
  const byReact = excused("React alone calls it; packages/react/test has wrong arguments");
  await callExports("react", react, { CentellaProvider: byReact, useModel: byReact, useModels: byReact });
  await callExports("react/chat", chat, { useCentellaChat: byReact });
});
