import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";
import { PromptProgress } from "../generation/promptProgress.ts";
import { eventsWith } from "../http/apiForm.ts";
import { done } from "./chatChunks.ts";
import { completionHead } from "./completionHead.ts";
import { CompletionLogprobs } from "./completionLogprobs.ts";
import { timingsOf, usageOf } from "./usage.ts";

/** What a stream contains besides the texts. */
export interface CompletionStream {
  readonly choices: number;
  /** Beginning of the text for each prompt. */
  readonly echoes: readonly string[];
  readonly includesUsage: boolean;
  /** Reports the progress of the prompts. */
  readonly reportsProgress: boolean;
}

/** The chunks of a plain completion. */
export async function* completionChunks(
  answer: Answer,
  { choices, echoes, includesUsage, reportsProgress }: CompletionStream,
): AsyncGenerator<string, void, undefined> {
  const eventOf = eventsWith(completionHead("cmpl", "text_completion", answer));
  const finishes: AnswerFinish[] = [];
  const logprobsOf = echoes.flatMap(() => Array.from({ length: choices }, () => new CompletionLogprobs(answer.lease.model.tokenizer, 0)));
  const begun = new Set<number>();
  const progress = new PromptProgress();
  for await (const { choice: index, part } of answer.parts()) {
    if (part.type === "prefill" && reportsProgress) yield eventOf({ choices: [], ...progress.of(index, part) });
    const echo = begun.has(index) ? "" : echoes[Math.floor(index / choices)]!;
    begun.add(index);
    if (part.type === "finish") {
      finishes[index] = part;
      yield eventOf({
        choices: [{ index, text: echo, logprobs: null, finish_reason: part.kind }],
        timings: timingsOf(part),
      });
    } else if (part.type === "text") {
      const logprobs = part.logprobs === undefined ? null : logprobsOf[index]!.next(part.logprobs);
      yield eventOf({ choices: [{ index, text: echo + part.text, logprobs, finish_reason: null }] });
    } else if (echo !== "") yield eventOf({ choices: [{ index, text: echo, logprobs: null, finish_reason: null }] });
  }
  yield (includesUsage ? eventOf({ choices: [], usage: usageOf(finishes, choices) }) : "") + done;
}
