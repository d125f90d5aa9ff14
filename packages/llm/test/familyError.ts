import type { Model } from "../src/index.ts";
import { decodedText, expectedLogprobs } from "./decodedText.ts";
import { comparedLogits, expectedLogits, type FamilyGolden, familyModel, floats, withVocabulary } from "./familyFixture.ts";
import { relativeError } from "./vectors.ts";

/**
 * Options for models that are compared: what ggml's CPU code rounds is rounded, such as what GELU is taken of, and nothing else. Models that choose
 * keys by scores are sensitive to that.
 */
export const asLlamaCpp = { cacheType: "f32", activations: "ggml" } as const;

/** The bytes of the golden's model, with a vocabulary if what is compared is text. */
export function modelOfFamily(golden: FamilyGolden): Uint8Array<ArrayBuffer> {
  return familyModel(golden.text === undefined ? golden : withVocabulary(golden, "t5"));
}

/**
 * Largest difference from what llama.cpp computes: of logits, embeddings and the log probabilities of a decoder's first tokens relative to their norm,
 * of the scores of two documents as it is.
 */
export async function familyError(model: Model, golden: FamilyGolden): Promise<number> {
  const { ids, logits, mean, text, ranked } = golden;
  const errors: number[] = [];
  if (logits !== undefined) errors.push(relativeError(comparedLogits(await model.logits(ids), golden), expectedLogits(golden)));
  if (mean !== undefined) {
    const [vector] = await model.embed([{ ids }], { pooling: "mean", normalize: false });
    errors.push(relativeError(vector!, floats(mean)));
  }
  if (text !== undefined) errors.push(await decoderError(model, golden, 3, golden.textLogits!));
  if (ranked !== undefined) {
    const { results } = await model.rerank(ranked.query, ranked.documents.slice(0, 2));
    errors.push(...results.map(({ index, score }) => Math.abs(score - ranked.scores[index]!)));
  }
  // Without anything to compare, nothing is proved.
  return errors.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...errors);
}

/** Difference from what llama.cpp computes after it has quantized the model: of the logits of the last position, or of all that it embeds. */
export async function quantizedError(model: Model, golden: FamilyGolden, stored: string): Promise<number> {
  const { ids, logits, text } = golden;
  if (text !== undefined) return decoderError(model, golden, 1, stored);
  if (logits === undefined) return relativeError((await model.embed([{ ids }], { pooling: "mean", normalize: false }))[0]!, floats(stored));
  const last = expectedLogits({ ...golden, logits: stored, rows: [0] });
  return relativeError(comparedLogits(await model.logits(ids), golden).slice(-last.length), last);
}

/** Relative error of the log probabilities of the first tokens that a decoder generates. */
async function decoderError(model: Model, golden: FamilyGolden, tokens: number, logits: string): Promise<number> {
  const first = { ...golden, text: golden.text!.slice(0, tokens + 1) };
  const width = model.info.vocabSize;
  const textLogits = Buffer.from(floats(logits).slice(0, tokens * width).buffer).toString("base64");
  return relativeError((await decodedText(model, first)).logprobs, expectedLogprobs({ ...first, textLogits }));
}
