import type { ChatMessage } from "../chat/messages.ts";

/** A text with a gap to fill. */
export interface Gap {
  /** Text before the gap. */
  readonly prefix: string;
  /** Text after the gap. */
  readonly suffix: string;
}

/**
 * Input of a generation: a string (the user's turn of the chat, or text to continue if the model has no chat template or with `raw`), new
 * messages of the chat, a gap to fill, or token ids.
 */
export type Prompt = string | readonly ChatMessage[] | Gap | { readonly ids: ArrayLike<number> };
