import { createCentella } from "@centella/ai-sdk";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { fable } from "@centella/model-fable"; // or the path of any GGUF file, or "hf:owner/repo:Q4_K_M"
import { convertToModelMessages, streamText, type UIMessage } from "ai";

// One runtime for all requests. The first request loads the model, and four at a time share its runs.
const runtime = await createRuntime({ backends: [wasm()] });
const centella = createCentella({ runtime, models: { story: { source: fable, load: { sequences: 4 } } } });

export async function POST(request: Request): Promise<Response> {
  const { messages }: { messages: UIMessage[] } = await request.json();
  const result = streamText({
    model: centella("story"),
    messages: await convertToModelMessages(messages),
    maxOutputTokens: 200,
    abortSignal: request.signal,
  });
  return result.toUIMessageStreamResponse();
}
