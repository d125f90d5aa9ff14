import { isRecord, type Kinds, kind, listOf, plainData } from "@centella/quant/checks";

/** Options of `ChatTemplate.render`. */
export interface RenderOptions {
  /** End the prompt with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** End the prompt with the text of the last message, an assistant message that the model continues. Default false. */
  readonly continueFinalMessage?: boolean;
  /** Tools in the template's format (usually OpenAI's function objects). */
  readonly tools?: readonly unknown[];
  readonly documents?: readonly unknown[];
  /** Further variables that the template knows, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Time that `strftime_now` formats. Default: now. */
  readonly now?: Date;
}

/** Options that `generate` passes to the template. */
export type ChatOptions = Omit<RenderOptions, "addGenerationPrompt" | "continueFinalMessage">;

/** Kinds of the values that a template gets besides the messages. */
export const chatKinds: Kinds<ChatOptions> = {
  tools: listOf("plain data", plainData),
  documents: listOf("plain data", plainData),
  variables: kind("an object of plain data", (value) => isRecord(value) && plainData.accepts(value)),
  now: kind("a valid Date", (value) => value instanceof Date && Number.isFinite(value.getTime())),
};
