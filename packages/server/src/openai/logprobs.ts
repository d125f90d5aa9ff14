import type { ChosenLogprob, Tokenizer } from "@centella/llm";

interface Token {
  readonly token: string;
  readonly bytes: readonly number[];
}

function tokenOf(tokenizer: Tokenizer, id: number): Token {
  const bytes = tokenizer.tokenBytes(id);
  return { token: new TextDecoder().decode(bytes), bytes: [...bytes] };
}

/** Log probabilities of chats. */
export function chatLogprobs(tokenizer: Tokenizer, logprobs: readonly ChosenLogprob[]): object {
  return {
    content: logprobs.map(({ id, logprob, top }) => ({
      ...tokenOf(tokenizer, id),
      logprob,
      top_logprobs: top.map((each) => ({ ...tokenOf(tokenizer, each.id), logprob: each.logprob })),
    })),
  };
}

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
