/** Whether a session can be created, and what has to happen before. */
export type Availability = "unavailable" | "downloadable" | "downloading" | "available";

/** How varied answers are, from always the most likely token to far above the model's own temperature. */
export type SamplingMode = "most-predictable" | "predictable" | "balanced" | "creative" | "most-creative";

/** A piece of a message. Only text is supported. */
export interface MessageContent {
  readonly type: "text" | "image" | "audio";
  readonly value: unknown;
}

/** A turn of the conversation. Only the first one may be the system's. */
export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string | readonly MessageContent[];
  /** Whether the answer continues this message, which is the last one and the assistant's. Default false. */
  readonly prefix?: boolean | undefined;
}

/** The user's text, or messages. */
export type PromptInput = string | readonly Message[];

/** Types of content, and languages as BCP 47 tags, that a session is expected to read or write. */
export interface Expected {
  readonly type: "text" | "image" | "audio" | "tool-call" | "tool-response";
  readonly languages?: readonly string[] | undefined;
}

/** A function that the model may call. */
export interface PromptTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the argument, an object. */
  readonly inputSchema: object;
  /** Computes the result of a call. An error is reported to the model as the result. */
  // biome-ignore lint/suspicious/noExplicitAny: the schema says what the argument is; Chrome's type is the same
  readonly execute: (...args: any[]) => Promise<string>;
}

/** Options that decide whether a session can be created. */
export interface CreateCoreOptions {
  readonly expectedInputs?: readonly Expected[] | undefined;
  readonly expectedOutputs?: readonly Expected[] | undefined;
  readonly tools?: readonly PromptTool[] | undefined;
  /** Default: "balanced", which samples as the model's file says. */
  readonly samplingMode?: SamplingMode | undefined;
  /** Most likely tokens to choose from, at least 1. Not together with `samplingMode`. */
  readonly topK?: number | undefined;
  /** At least 0. Not together with `samplingMode`. */
  readonly temperature?: number | undefined;
}

/** Options of `LanguageModel.create`. */
export interface CreateOptions extends CreateCoreOptions {
  /** Ends the creation, and later the session. */
  readonly signal?: AbortSignal | undefined;
  /** Receives an event target for `downloadprogress` events, whose `loaded` goes from 0 to 1. */
  readonly monitor?: ((monitor: CreateMonitor) => void) | undefined;
  /** Messages that are never dropped from the context. */
  readonly initialPrompts?: readonly Message[] | undefined;
}

/** Options of `prompt`, `promptStreaming` and `measureContextUsage`. */
export interface PromptOptions {
  /** What the answer must match as a whole: a JSON Schema or a regular expression. */
  readonly responseConstraint?: object | undefined;
  /** Leave the constraint out of the prompt. The answer matches all the same. Default false. */
  readonly omitResponseConstraintInput?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `append` and `clone`. */
export interface SignalOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Reports the progress of a creation. */
export interface CreateMonitor extends EventTarget {
  // biome-ignore lint/suspicious/noExplicitAny: as event handlers are typed in the DOM
  ondownloadprogress: ((this: any, event: any) => unknown) | null;
}

/** Values and limits of the raw sampling options. */
export interface LanguageModelParams {
  readonly defaultTopK: number;
  readonly maxTopK: number;
  readonly defaultTemperature: number;
  readonly maxTemperature: number;
}
