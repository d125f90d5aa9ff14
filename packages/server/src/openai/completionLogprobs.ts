import type { ChosenLogprob, Tokenizer } from "@centella/llm";
import { tokenOf } from "../generation/tokenLogprobs.ts";

/** Log probabilities of plain completions. Offsets count from the beginning of the answer's text. */
export class CompletionLogprobs {
  readonly #tokenizer: Tokenizer;
  #offset: number;

  constructor(tokenizer: Tokenizer, offset: number) {
    this.#tokenizer = tokenizer;
    this.#offset = offset;
  }

  next(logprobs: readonly ChosenLogprob[]): object {
    const tokens = logprobs.map(({ id }) => tokenOf(this.#tokenizer, id).token);
    return {
      tokens,
      token_logprobs: logprobs.map(({ logprob }) => logprob),
      top_logprobs: logprobs.map(({ top }) =>
        Object.fromEntries(top.map(({ id, logprob }) => [tokenOf(this.#tokenizer, id).token, logprob])),
      ),
      text_offset: tokens.map((token) => {
        const offset = this.#offset;
        this.#offset += token.length;
        return offset;
      }),
    };
  }
}
