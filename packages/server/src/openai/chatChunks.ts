import type { GeneratedText, ToolCallPart } from "@centella/llm";
import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";
import { tokenLogprobs } from "../generation/tokenLogprobs.ts";
import { serverSentEvent } from "../http/apiForm.ts";
import { completionHead } from "./completionHead.ts";
import { timingsOf, usageOf } from "./usage.ts";

/** What a stream contains besides the texts. */
export interface ChunkOptions {
  readonly choices: number;
  /** Ends with a chunk that has the token counts. */
  readonly includesUsage: boolean;
  /** Reports the progress of the prompt. */
  readonly reportsProgress: boolean;
}

/** The last event of a stream of OpenAI's API. */
export const done = "data: [DONE]\n\n";

/** The chunks of a chat completion. */
export async function* chatChunks(
  answer: Answer,
  { choices, includesUsage, reportsProgress }: ChunkOptions,
): AsyncGenerator<string, void, undefined> {
  const head = completionHead("chatcmpl", "chat.completion.chunk", answer);
  const { tokenizer } = answer.lease.model;
  const finishes: AnswerFinish[] = [];
  const begun = new Set<number>();
  const chunk = (choices: readonly object[], more: object = includesUsage ? { usage: null } : {}): string =>
    serverSentEvent({ ...head, choices, ...more });
  for await (const { choice: index, part } of answer.parts()) {
    if (!begun.has(index)) {
      begun.add(index);
      yield chunk([{ index, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }]);
    }
    if (part.type === "prefill") {
      if (reportsProgress) yield chunk([], { prompt_progress: { total: part.total, processed: part.done } });
    } else if (part.type === "finish") {
      finishes[index] = part;
      yield chunk([{ index, delta: {}, logprobs: null, finish_reason: part.kind }], {
        timings: timingsOf(part),
        ...(includesUsage && { usage: null }),
      });
    } else {
      const delta = deltaOf(part);
      const logprobs = part.logprobs === undefined ? null : { content: tokenLogprobs(tokenizer, part.logprobs) };
      if (delta !== undefined) yield chunk([{ index, delta, logprobs, finish_reason: null }]);
    }
  }
  if (includesUsage) yield chunk([], { usage: usageOf(finishes, choices) });
  yield done;
}

/** What a part adds to the message. */
function deltaOf(part: GeneratedText | ToolCallPart): object | undefined {
  switch (part.type) {
    case "reasoning":
      return { reasoning_content: part.text };
    case "text":
      return { content: part.text };
    case "commentary":
      // Harmony's messages about tools are text, and those to tools are not.
      return part.recipient === undefined ? { content: part.text } : undefined;
    case "toolCall":
      return { tool_calls: [callDelta(part)] };
  }
}

/** The first piece of a call has its id and name. */
function callDelta({ id, name, index, argumentsDelta, isFirst }: ToolCallPart): object {
  const head = isFirst ? { id, type: "function" } : {};
  return { index, ...head, function: { ...(isFirst && { name }), arguments: argumentsDelta } };
}
