import type { GeneratedText, ToolCallPart } from "@centella/llm";
import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";
import { PromptProgress } from "../generation/promptProgress.ts";
import { tokenLogprobs } from "../generation/tokenLogprobs.ts";
import { eventsWith } from "../http/apiForm.ts";
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
  const eventOf = eventsWith(completionHead("chatcmpl", "chat.completion.chunk", answer));
  const { tokenizer } = answer.lease.model;
  const finishes: AnswerFinish[] = [];
  const begun = new Set<number>();
  const progress = new PromptProgress();
  const chunk = (choices: readonly object[], more: object = includesUsage ? { usage: null } : {}): string => eventOf({ choices, ...more });
  for await (const { choice: index, part } of answer.parts()) {
    if (part.type === "prefill" && !reportsProgress) continue;
    // Sent with what follows: each time costs as much as several chunks.
    const role = begun.has(index) ? "" : chunk([{ index, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }]);
    begun.add(index);
    if (part.type === "prefill") yield role + chunk([], progress.of(index, part));
    else if (part.type === "finish") {
      finishes[index] = part;
      const more = { timings: timingsOf(part), ...(includesUsage && { usage: null }) };
      yield role + chunk([{ index, delta: {}, logprobs: null, finish_reason: part.kind }], more);
    } else {
      const delta = deltaOf(part);
      const logprobs = part.logprobs === undefined ? null : { content: tokenLogprobs(tokenizer, part.logprobs) };
      if (delta !== undefined) yield role + chunk([{ index, delta, logprobs, finish_reason: null }]);
      else if (role !== "") yield role;
    }
  }
  yield (includesUsage ? chunk([], { usage: usageOf(finishes, choices) }) : "") + done;
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
