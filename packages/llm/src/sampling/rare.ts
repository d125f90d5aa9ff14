/** What sampling takes that few ask for: a page downloads it with the first text that does. */
export { dryPenalties } from "./dry.ts";
export { breakerSequences } from "./dryBreakers.ts";
export { logprobsOf } from "./logprobs.ts";
export { mirostat } from "./mirostat.ts";
