import type { Answer } from "../generation/answer.ts";
import { completionHead } from "./completionHead.ts";
import { CompletionLogprobs } from "./completionLogprobs.ts";
import { timingsOf, usageOf } from "./usage.ts";

/** A plain completion, when all its texts have ended. `echoes` has the beginning of the text for each prompt. */
export async function completionOf(answer: Answer, choices: number, echoes: readonly string[]): Promise<object> {
  const finishes = await answer.finishes();
  return {
    ...completionHead("cmpl", "text_completion", answer),
    choices: finishes.map(({ text, logprobs, kind }, index) => ({
      index,
      text: echoes[Math.floor(index / choices)] + text,
      logprobs: logprobs === undefined ? null : new CompletionLogprobs(answer.lease.model.tokenizer, 0).next(logprobs),
      finish_reason: kind,
    })),
    usage: usageOf(finishes, choices),
    timings: timingsOf(finishes[0]!),
  };
}
