import { anything, type Kinds, object } from "@centella/quant/checks";
import type { ChatMessage } from "../chat/messages.ts";
import type { AdapterScales } from "../load/adapterScales.ts";

/** Options of `model.createSession`. */
export interface SessionOptions {
  /** The conversation so far, e.g. a system message. */
  readonly messages?: readonly ChatMessage[] | undefined;
  /**
   * Scales of the named adapters that all of its texts are computed with, by name; see `loadModel`. Sessions with different adapters share
   * runs, but no computed tokens. Default: none.
   */
  readonly adapters?: AdapterScales | undefined;
}

/** Options of a session; `checkMessages` checks the messages. */
export const sessionKinds: Kinds<SessionOptions> = { messages: anything, adapters: object };
