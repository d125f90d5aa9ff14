import { CentellaError } from "@centella/core";
import { shown } from "@centella/quant/checks";

/** Base class of the errors that only this package throws. */
export class LlmError extends CentellaError {
  override name = "LlmError";
}

/** A vocabulary that cannot be used (unknown kind or pre-tokenizer, broken tables), or an id or text that a tokenizer cannot convert. */
export class TokenizerError extends LlmError {
  override name = "TokenizerError";
  constructor(message: string, options?: ErrorOptions) {
    super("tokenizer", message, options);
  }
}

/** Metadata key of a file's template. */
export const chatTemplateKey = "tokenizer.chat_template";

/** Message of a {@link ChatTemplateError} for a file without a template. */
export function noChatTemplate(key: string): string {
  return `chat template: expected ${key} in the file, got no such key; use plain completion or pass a template`;
}

/** Maximum length of an error message that quotes a template. */
const maxTemplateMessage = 1000;

/**
 * A chat template that is missing, cannot be parsed or rendered, or that rejected the messages by `raise_exception`. Its message
 * quotes the template with control characters escaped.
 */
export class ChatTemplateError extends LlmError {
  override name = "ChatTemplateError";
  /** Line of the template, from 1, where it is known. */
  readonly line: number | undefined;
  constructor(message: string, line?: number, options?: ErrorOptions) {
    super("chatTemplate", shown(message, maxTemplateMessage), options);
    this.line = line;
  }
}

/** Logits or a history that no token can be sampled from. */
export class SamplingError extends LlmError {
  override name = "SamplingError";
  constructor(message: string) {
    super("sampling", message);
  }
}

/** A file that is not a complete model: metadata keys or tensors are missing, misshapen or not supported. */
export class ModelError extends LlmError {
  override name = "ModelError";
  constructor(message: string, options?: ErrorOptions) {
    super("model", message, options);
  }
}

/** A model architecture that this package does not support. */
export class UnsupportedArchitectureError extends LlmError {
  override name = "UnsupportedArchitectureError";
  /** Value of `general.architecture`. */
  readonly architecture: string;
  readonly supported: readonly string[];
  /** Why models of this architecture cannot be loaded, if it is a known one. */
  readonly reason: string | undefined;
  constructor(architecture: string, supported: readonly string[], reason?: string) {
    const why = reason === undefined ? "" : `: ${reason}`;
    super("unsupportedArchitecture", `model: expected a supported architecture, got ${shown(architecture)}${why}; use another model`);
    this.reason = reason;
    this.architecture = architecture;
    this.supported = supported;
  }
}

/** Number of tokens up to which a prompt is counted. The exact length of a far longer prompt would be of no use. */
export function maxCountedTokens(contextLength: number): number {
  return 4 * contextLength;
}

/** A prompt or another text that leaves no room in the context, or with the policy "error" a text that fills it. Nothing was truncated. */
export class ContextOverflowError extends LlmError {
  override name = "ContextOverflowError";
  /** Tokens of the prompt. Counting stops beyond four contexts. */
  readonly promptTokens: number;
  readonly contextLength: number;
  constructor(promptTokens: number, contextLength: number, limit: number, generatedTokens: number = 0, subject: string = "prompt") {
    const counted = maxCountedTokens(contextLength);
    const prompt = promptTokens > counted ? `more than ${counted}` : `${promptTokens}`;
    const got = generatedTokens === 0 ? prompt : `${prompt} and ${generatedTokens} generated ones`;
    super(
      "contextOverflow",
      `${subject}: expected at most ${limit} tokens in a context of ${contextLength}, got ${got}; shorten it, choose an overflow policy, or load the model with a larger contextLength`,
    );
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** Current numbers of running and queued requests. */
export interface Load {
  readonly running: number;
  readonly waiting: number;
  /** Capacity of the queue. */
  readonly maxWaiting: number;
}

/** The queue is full, or the session has an open stream that the call cannot wait for. */
export class BusyError extends LlmError {
  override name = "BusyError";
  /** Requests that are being computed. */
  readonly running: number;
  /** Requests in the queue. */
  readonly waiting: number;
  /** Capacity of the queue. */
  readonly maxWaiting: number;
  constructor(message: string, { running, waiting, maxWaiting }: Load) {
    super("busy", message);
    this.running = running;
    this.waiting = waiting;
    this.maxWaiting = maxWaiting;
  }
}

/** Bytes from which no session can be restored. */
export class SnapshotError extends LlmError {
  override name = "SnapshotError";
  /**
   * - "foreign": the bytes are not a snapshot.
   * - "version": the snapshot has another version.
   * - "damaged": the bytes were changed or are inconsistent.
   * - "unauthenticated": a key was given, and the MAC is missing or was made with another key.
   * - "otherModel", "otherCache": the snapshot comes from another model or another kind of cache.
   */
  readonly reason: "foreign" | "version" | "damaged" | "unauthenticated" | "otherModel" | "otherCache";
  constructor(reason: SnapshotError["reason"], message: string, options?: ErrorOptions) {
    super("snapshot", message, options);
    this.reason = reason;
  }
}
