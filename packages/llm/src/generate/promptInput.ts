import type { ChatMessage } from "../chat/messages.ts";

/** A file that helps a model to fill a gap in another one. */
export interface GapFile {
  readonly name: string;
  readonly text: string;
}

/** A text with a gap to fill. */
export interface Gap {
  /** Text before the gap. */
  readonly prefix: string;
  /** Text after the gap. */
  readonly suffix: string;
  /**
   * Other files of the repository, which precede the text. With a list, also an empty one, the prompt has the vocabulary's tokens for
   * repositories and files, if there are any. Default: a text alone.
   */
  readonly files?: readonly GapFile[] | undefined;
}

/**
 * Input of a generation: a string (the user's turn of the chat, or text to continue if the model has no chat template or with `raw`), new
 * messages of the chat, a gap to fill, or token ids.
 */
export type Prompt = string | readonly ChatMessage[] | Gap | { readonly ids: ArrayLike<number> };
