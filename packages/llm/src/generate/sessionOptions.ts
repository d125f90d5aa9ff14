import { anything, type Kinds } from "@centella/quant/checks";
import type { ChatMessage } from "../chat/messages.ts";

/** Options of `model.createSession`. */
export interface SessionOptions {
  /** The conversation so far, e.g. a system message. */
  readonly messages?: readonly ChatMessage[] | undefined;
}

/** Options of a session; `checkMessages` checks the messages. */
export const sessionKinds: Kinds<SessionOptions> = { messages: anything };
