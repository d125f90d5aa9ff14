import type { ChatMessage, GenerateOptions, Session } from "@centella/llm";
import { overflowOf } from "./errors.ts";

/** A session of a model, in this thread or in a worker. */
export interface EngineSession extends Pick<Session, "messages" | "generate" | "complete" | "run" | "reset" | "dispose"> {
  fork(): EngineSession;
}

/** Computes messages, so that an answer to them starts at once. Returns the number of their tokens. */
export async function prefill(session: EngineSession, messages: readonly ChatMessage[], options: GenerateOptions): Promise<number> {
  session.reset();
  const { usage } = await session.complete(readable(messages), { ...options, maxTokens: 1 });
  return usage.promptTokens;
}

/** Number of tokens of messages, also if the context is too small for them. The session itself stays as it is. */
export async function countTokens(session: EngineSession, messages: readonly ChatMessage[], options: GenerateOptions): Promise<number> {
  const scratch = session.fork();
  try {
    scratch.reset();
    for await (const part of scratch.generate(readable(messages), { ...options, maxTokens: 1, progress: true })) {
      // The first part says how much there is to compute. Models that fill in masked tokens have no such part.
      if (part.type === "prefill") return part.total;
      if (part.type === "finish") return part.usage.promptTokens;
    }
    return 0;
  } catch (error) {
    const tokens = overflowOf(error);
    if (tokens === undefined) throw error;
    return tokens;
  } finally {
    scratch.dispose();
  }
}

/** Messages with one of the user, without which many chat templates refuse them. */
function readable(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.some(({ role }) => role === "user") ? messages : [...messages, { role: "user", content: "" }];
}
