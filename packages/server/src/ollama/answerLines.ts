import type { ToolCall } from "@centella/llm";
import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";
import { type TokenLogprob, tokenLogprobs } from "../generation/tokenLogprobs.ts";

/** A piece of an answer, before it has the form of a route. */
export interface Piece {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCall[];
}

/** How a route writes a piece. */
export type PieceForm = (piece: Piece) => object;

/** A chat writes messages. */
export const chatForm: PieceForm = ({ text, thinking, calls }) => ({
  message: {
    role: "assistant",
    content: text,
    ...(thinking !== "" && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls.map(({ name, arguments: args }) => ({ function: { name, arguments: args } })) }),
  },
});

/** A plain generation writes texts. */
export const generateForm: PieceForm = ({ text, thinking }) => ({ response: text, ...(thinking !== "" && { thinking }) });

const nothing: Piece = { text: "", thinking: "", calls: [] };

/** The answer as lines of JSON, each with a piece. The last line has the counts. */
export async function* answerLines(answer: Answer, form: PieceForm): AsyncGenerator<string, void, undefined> {
  const { tokenizer } = answer.lease.model;
  const lineOf = (piece: Piece, logprobs: readonly TokenLogprob[] | undefined): string =>
    `${JSON.stringify({ ...headOf(answer), ...form(piece), done: false, ...(logprobs !== undefined && { logprobs }) })}\n`;
  let written = "";
  for await (const { part } of answer.parts()) {
    if (part.type === "prefill") continue;
    if (part.type === "finish") {
      yield `${JSON.stringify({ ...headOf(answer), ...form(nothing), ...endOf(part) })}\n`;
      return;
    }
    const logprobs = part.logprobs === undefined ? undefined : tokenLogprobs(tokenizer, part.logprobs);
    if (part.type === "reasoning") yield lineOf({ ...nothing, thinking: part.text }, logprobs);
    else if (part.type === "toolCall") {
      // Calls are written as a whole.
      written = part.isFirst ? part.argumentsDelta : written + part.argumentsDelta;
      if (part.isLast) yield lineOf({ ...nothing, calls: [{ id: part.id, name: part.name, arguments: JSON.parse(written) }] }, undefined);
    } else if (part.recipient === undefined) yield lineOf({ ...nothing, text: part.text }, logprobs);
  }
}

/** The answer as a whole. */
export async function wholeAnswer(answer: Answer, form: PieceForm): Promise<object> {
  const [finish] = await answer.finishes();
  const { text, reasoning = "", toolCalls: calls = [], commentary = [], logprobs } = finish!;
  const preamble = commentary.flatMap((each) => (each.recipient === undefined ? [each.text] : [])).join("");
  return {
    ...headOf(answer),
    ...form({ text: preamble + text, thinking: reasoning, calls }),
    ...endOf(finish!),
    ...(logprobs !== undefined && { logprobs: tokenLogprobs(answer.lease.model.tokenizer, logprobs) }),
  };
}

function headOf({ lease }: Answer): { readonly model: string; readonly created_at: string } {
  return { model: lease.name, created_at: new Date().toISOString() };
}

/** Why the text ended, and counts with times in nanoseconds. */
function endOf({ kind, usage, timings }: AnswerFinish): object {
  const { timeToFirstTokenMs, promptMs, decodeMs } = timings;
  return {
    done: true,
    done_reason: kind === "length" ? "length" : "stop",
    total_duration: nanoseconds(timeToFirstTokenMs + decodeMs),
    load_duration: 0,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanoseconds(promptMs),
    eval_count: usage.completionTokens,
    eval_duration: nanoseconds(decodeMs),
  };
}

export function nanoseconds(ms: number): number {
  return Math.round(ms * 1e6);
}
