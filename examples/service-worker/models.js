import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import { answerRequests } from "@centella/server/service-worker";

const load = async (context) => {
  const runtime = await createRuntime({ backends: [wasm({ sync: false })] });
  return loadModel(new URL("/model.gguf", location.href), { runtime, sequences: 4, ...context });
};

answerRequests(createHandler({ models: { story: { load } } }));
