import { check, elementAt, floatArray, whole } from "@centella/quant/checks";
import { largest } from "./candidateHeap.ts";
import { logSumExp } from "./candidates.ts";

/** A token and the natural logarithm of its probability according to the model, before any sampling step. */
export interface TokenLogprob {
  readonly id: number;
  readonly logprob: number;
}

/** {@link TokenLogprob} of a sampled token, and of the most likely tokens at its position, the most likely first. */
export interface ChosenLogprob extends TokenLogprob {
  readonly top: readonly TokenLogprob[];
}

/** `ln softmax(logits)` of a token and of the `top` most likely ones; tokens with equal logits by id. */
export function logprobsOf(logits: Float32Array, id: number, top: number): ChosenLogprob {
  check("logprobsOf", "logits", logits, floatArray);
  check("logprobsOf", "id", id, whole(0, logits.length - 1));
  check("logprobsOf", "top", top, whole(0));
  const shift = logSumExp(logits);
  const logprobOf = (token: number): TokenLogprob => ({ id: token, logprob: elementAt(logits, token) - shift });
  const best = largest({ ids: Int32Array.from(logits.keys()), logits: logits.slice(), sorted: false }, top);
  return { ...logprobOf(id), top: Array.from(best.ids, logprobOf) };
}
