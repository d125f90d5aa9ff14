import type { Model } from "../src/index.ts";
import { type FamilyGolden, floats } from "./familyFixture.ts";

/** A decoder's greedy text after an encoder has read a golden's ids, and log probabilities `[ids.length, vocabSize]`. */
export interface DecodedText {
  readonly ids: readonly number[];
  readonly logprobs: Float32Array;
}

/** Options of a text that always takes the likeliest token. */
export const greedy = { temperature: 0, ignoreEos: true, topK: 0, topP: 1, minP: 0 } as const;

/** Generates the text of a golden that has one. */
export async function decodedText(model: Model, golden: FamilyGolden): Promise<DecodedText> {
  const options = { ...greedy, maxTokens: golden.text!.length - 1, logprobs: model.info.vocabSize };
  const { ids, logprobs } = await model.createSession().complete({ ids: golden.ids }, options);
  return {
    ids,
    logprobs: Float32Array.from(logprobs!.flatMap(({ top }) => top.toSorted((a, b) => a.id - b.id).map(({ logprob }) => logprob))),
  };
}

/** The log probabilities of llama.cpp's text. */
export function expectedLogprobs({ text, textLogits }: FamilyGolden): Float32Array {
  const logits = floats(textLogits!);
  const width = logits.length / (text!.length - 1);
  return logits.map((logit, i) => {
    const start = i - (i % width);
    return logit - Math.log(logits.subarray(start, start + width).reduce((sum, other) => sum + Math.exp(other), 0));
  });
}
