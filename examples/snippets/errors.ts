import { wasm } from "@centella/backend-wasm";
import { CentellaError, createRuntime } from "@centella/core";
import { ContextOverflowError, loadModel } from "@centella/llm";

const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel("model.gguf", { runtime, contextLength: 64 });
const question = "Tell me a very long story. ".repeat(40);
try {
  await model.createSession().complete(question);
} catch (error) {
  if (error instanceof ContextOverflowError) console.log(`${error.promptTokens} tokens do not fit into ${error.contextLength}`);
  else throw error;
}
try {
  await loadModel("missing.gguf", { runtime });
} catch (error) {
  if (error instanceof CentellaError) console.log(`${error.code}: ${error.message}`);
}
await runtime.dispose();
