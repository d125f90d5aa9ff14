import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";

/** Why a message ended. */
export function stopOf({ kind, stop }: AnswerFinish): { readonly stop_reason: string; readonly stop_sequence: string | null } {
  if (stop !== undefined) return { stop_reason: "stop_sequence", stop_sequence: stop };
  const stop_reason = kind === "tool_calls" ? "tool_use" : kind === "length" ? "max_tokens" : "end_turn";
  return { stop_reason, stop_sequence: null };
}

/** Token counts. Cached tokens are counted apart. */
export function usageOf(promptTokens: number, cachedTokens: number, outputTokens: number): object {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
}

/** A message without content, as a stream begins it. */
export function emptyMessage({ lease }: Answer): object {
  return { id: `msg_${crypto.randomUUID().replaceAll("-", "")}`, type: "message", role: "assistant", model: lease.name, content: [] };
}

/** A message, when its text has ended. */
export async function messageOf(answer: Answer): Promise<object> {
  const [finish] = await answer.finishes();
  const { text, reasoning, toolCalls = [], commentary = [], usage } = finish!;
  const preamble = commentary.flatMap((each) => (each.recipient === undefined ? [each.text] : [])).join("");
  return {
    ...emptyMessage(answer),
    content: [
      ...(reasoning ? [{ type: "thinking", thinking: reasoning, signature: "" }] : []),
      ...(preamble + text === "" ? [] : [{ type: "text", text: preamble + text }]),
      ...toolCalls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input })),
    ],
    ...stopOf(finish!),
    usage: usageOf(usage.promptTokens, usage.cachedTokens, usage.completionTokens),
  };
}
