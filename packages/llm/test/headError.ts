import type { RuntimeOptions } from "@centella/core";
import { readGguf } from "@centella/gguf";
import { describeHeadOf } from "../src/load/draft/loadHead.ts";
import { familyModel, floats } from "./familyFixture.ts";
import { type HeadGolden, headModel } from "./headFixture.ts";
import { openHead } from "./openHead.ts";
import { relativeError } from "./vectors.ts";

/** Relative error of what a head predicts on a backend: for every position of the golden's text and for the tokens that it drafts. */
export async function headError(golden: HeadGolden, on: RuntimeOptions): Promise<number> {
  await using opened = await openPair(golden, { on });
  const feed = await opened.read(golden.ids);
  const { logits } = await feed("all", predictsAtOnce(golden) ? [] : golden.drafted);
  return knownError(logits, Float32Array.from([...floats(golden.logits), ...floats(golden.draftedLogits)]));
}

/** Relative error of the logits of tokens that a head knows. The other tokens must have no chance. */
export function knownError(logits: Float32Array, expected: Float32Array): number {
  const isKnown = (_: number, i: number): boolean => expected[i]! > -1e38;
  if (logits.some((logit, i) => logit > -1e38 !== isKnown(logit, i))) return Number.POSITIVE_INFINITY;
  return relativeError(logits.filter(isKnown), expected.filter(isKnown));
}

/** Whether one run predicts all tokens of a draft. */
export function predictsAtOnce({ draftedLogits }: HeadGolden): boolean {
  return draftedLogits === "";
}

/** Opens the model of a golden with its head. */
export async function openPair(golden: HeadGolden, options: Parameters<typeof openHead>[1] = {}) {
  const head = await readGguf(headModel(golden));
  return openHead(familyModel(golden.target), options, ({ config }, file) =>
    describeHeadOf({ file, config }, head, { tokens: 8, minProbability: 0, cacheType: "f32", weightBytes: 0 }),
  );
}
