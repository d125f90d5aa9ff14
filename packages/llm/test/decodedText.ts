import type { Model } from "../src/index.ts";
import { type FamilyGolden, floats } from "./familyFixture.ts";
import { relativeError } from "./modelFiles.ts";

/** A decoder's greedy text after an encoder has read a golden's ids, and how far its log probabilities are from llama.cpp's. */
export interface DecodedText {
  readonly ids: readonly number[];
  readonly error: number;
}

/** Options of a text that always takes the likeliest token. */
export const greedy = { temperature: 0, ignoreEos: true, topK: 0, topP: 1, minP: 0 } as const;

/** Generates the text of a golden that has one. */
export async function decodedText(model: Model, golden: FamilyGolden): Promise<DecodedText> {
  const want = floats(golden.textLogits!);
  const rows = golden.text!.length - 1;
  const width = want.length / rows;
  const { ids, logprobs } = await model.createSession().complete({ ids: golden.ids }, { ...greedy, maxTokens: rows, logprobs: width });
  const got = logprobs!.flatMap(({ top }) => top.toSorted((a, b) => a.id - b.id).map(({ logprob }) => logprob));
  return { ids, error: relativeError(Float32Array.from(got), logprobsOf(want, width)) };
}

/** Log probabilities of rows of logits. */
function logprobsOf(logits: Float32Array, width: number): Float32Array {
  return logits.map((logit, i) => {
    const start = i - (i % width);
    return logit - Math.log(logits.subarray(start, start + width).reduce((sum, other) => sum + Math.exp(other), 0));
  });
}
