import { wholeNumber } from "../options.ts";
import type { ChosenContext, ContextRequest } from "./contextRequest.ts";

const defaultLimit = 4096;

/**
 * Tokens that all sequences hold together, at most. Blocks are counted before they are filled, so a recurrent model, which has no cache that
 * could run out of memory, must not ask for more because its file says so. Models are trained on up to 2^24.
 */
const mostTokens = 2 ** 26;

/**
 * The contexts to try, the best first: the one that is asked for, or for "auto" the longest for which weights and cache fit the memory, and
 * then shorter ones for devices that have less than was believed.
 * @throws {ArgumentError} for a length outside the model's; {OutOfMemoryError} if not even a short one fits
 */
export async function contextsToTry(wishes: ContextRequest): Promise<readonly ChosenContext[]> {
  const { wanted, config, sequences } = wishes;
  const trained = config.contextLength;
  const longest = Math.min(trained, Math.max(1, Math.floor(mostTokens / sequences)));
  if (wanted === undefined) {
    if (trained <= defaultLimit) return [{ contextLength: trained, reason: "as trained" }];
    return [{ contextLength: defaultLimit, reason: `the default; the model was trained on ${trained}` }];
  }
  if (wanted !== "auto") return [{ contextLength: wholeNumber("contextLength", wanted, 1, longest), reason: "as asked for" }];
  const { autoContexts } = await import("./autoContext.ts");
  return autoContexts({ ...wishes, longest });
}
