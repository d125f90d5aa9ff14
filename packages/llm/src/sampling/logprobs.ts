import { check, floatArray, whole } from "@centella/quant/checks";
import { largest } from "./candidateHeap.ts";
import { greatestLogit } from "./candidates.ts";

/** A token and the natural logarithm of its probability by the model alone, before any sampling step. */
export interface TokenLogprob {
  readonly id: number;
  readonly logprob: number;
}

/** A chosen token's {@link TokenLogprob} and those of the most likely tokens at its place, most likely first. */
export interface ChosenLogprob extends TokenLogprob {
  readonly top: readonly TokenLogprob[];
}

/** `ln softmax(logits)` of a token and of the `top` most likely ones; equal ones by rising id. */
export function logprobsOf(logits: Float32Array, id: number, top: number): ChosenLogprob {
  check("logprobsOf", "logits", logits, floatArray);
  check("logprobsOf", "id", id, whole(0, logits.length - 1));
  check("logprobsOf", "top", top, whole(0));
  const max = greatestLogit(logits);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - max);
  const shift = max + Math.log(sum);
  const best = largest({ ids: Int32Array.from(logits.keys()), logits: logits.slice(), sorted: false }, top);
  return {
    id,
    logprob: logits[id]! - shift,
    top: Array.from(best.ids, (other) => ({ id: other, logprob: logits[other]! - shift })),
  };
}
