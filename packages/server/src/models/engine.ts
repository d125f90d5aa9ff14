import type { Model, Session } from "@centella/llm";

/** What the server needs of a session. */
export type EngineSession = Pick<Session, "generate" | "save" | "reset" | "dispose">;

/** What the server needs of a model. `Model` of `@centella/llm` is one. */
export interface Engine extends Pick<Model, "info" | "tokenizer" | "chatTemplate" | "cacheUsage" | "embed" | "dispose"> {
  createSession(): EngineSession;
  restoreSession(bytes: Uint8Array, options?: Parameters<Model["restoreSession"]>[1]): Promise<EngineSession>;
}
