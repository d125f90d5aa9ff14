import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { ResolvedSampling } from "./options.ts";
import { loadAlgorithms, SamplingChain } from "./samplingChain.ts";

/** Opens the chain that samples with these options. Code that few options ask for is loaded on demand. */
export async function openChain(options: ResolvedSampling, dryBreakers: readonly string[], tokenizer: Tokenizer): Promise<SamplingChain> {
  const breakers = options.dryMultiplier === 0 ? [] : (await import("./dryBreakers.ts")).breakerSequences(tokenizer, dryBreakers);
  return new SamplingChain({ ...options, dryBreakers: breakers }, await loadAlgorithms(options));
}
