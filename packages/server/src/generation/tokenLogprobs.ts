import type { ChosenLogprob, Tokenizer } from "@centella/llm";

/** A token as text, and as bytes where these are no text. */
export interface TokenText {
  readonly token: string;
  readonly bytes: readonly number[];
}

/** The log probability of a token, and of the most likely ones in its place. */
export interface TokenLogprob extends TokenText {
  readonly logprob: number;
  readonly top_logprobs: readonly (TokenText & { readonly logprob: number })[];
}

export function tokenOf(tokenizer: Tokenizer, id: number): TokenText {
  const bytes = tokenizer.tokenBytes(id);
  return { token: new TextDecoder().decode(bytes), bytes: [...bytes] };
}

/** Log probabilities in the form that the APIs for chats share. */
export function tokenLogprobs(tokenizer: Tokenizer, logprobs: readonly ChosenLogprob[]): readonly TokenLogprob[] {
  return logprobs.map(({ id, logprob, top }) => ({
    ...tokenOf(tokenizer, id),
    logprob,
    top_logprobs: top.map((each) => ({ ...tokenOf(tokenizer, each.id), logprob: each.logprob })),
  }));
}
