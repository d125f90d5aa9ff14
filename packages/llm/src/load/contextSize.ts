import { checkValue, whole } from "@centella/quant/checks";
import type { ChosenContext, ContextRequest } from "./autoContext.ts";

/** Maximum default context, for models that were trained on longer ones. */
export const defaultLimit = 4096;

/**
 * Maximum number of tokens of all sequences together. Blocks are counted before they are filled, so the number must be bounded even for a
 * recurrent model, which has no cache that could run out of memory. Models are trained on up to 2^24 tokens.
 */
const maxTokens = 2 ** 26;

/**
 * Context lengths to try, the best first: the one that is asked for, or for "auto" the longest for which weights and cache fit into memory
 * and then shorter ones.
 * @throws {ArgumentError} for a length outside the model's range; {OutOfMemoryError} if not even a short context fits
 */
export async function contextsToTry(request: ContextRequest): Promise<readonly ChosenContext[]> {
  const { wanted, config, sequences } = request;
  const trained = config.contextLength;
  const maxLength = Math.min(trained, Math.max(1, Math.floor(maxTokens / sequences)));
  if (wanted === undefined) {
    if (trained <= defaultLimit) return [{ contextLength: trained, reason: "as trained" }];
    return [{ contextLength: defaultLimit, reason: `the default; the model was trained on ${trained}` }];
  }
  if (wanted !== "auto") return [{ contextLength: checkValue("contextLength", wanted, whole(1, maxLength)), reason: "as asked for" }];
  const { autoContexts } = await import("./autoContext.ts");
  return autoContexts({ ...request, maxLength });
}
