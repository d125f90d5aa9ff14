import { CentellaError } from "@centella/core";
import { shown } from "@centella/quant/checks";

/** Base class of the errors of this package that no other package throws. */
export class LlmError extends CentellaError {
  override name = "LlmError";
}

/** A vocabulary that cannot be used (unknown kind, unknown pre-tokenizer, broken tables) or an id or text that it cannot map. */
export class TokenizerError extends LlmError {
  override name = "TokenizerError";
  constructor(message: string, options?: ErrorOptions) {
    super("tokenizer", message, options);
  }
}

/** Where a file has its template. */
export const chatTemplateKey = "tokenizer.chat_template";

/** What a {@link ChatTemplateError} says of a file without a template. */
export function noChatTemplate(key: string): string {
  return `chat template: expected ${key} in the file, got no such key; use plain completion or pass a template`;
}

/** Characters of a message that a template may fill. */
const longestTemplateMessage = 1000;

/**
 * A chat template that is missing, cannot be parsed or rendered, or that rejected the messages by `raise_exception`. Its message
 * quotes the template with control characters escaped.
 */
export class ChatTemplateError extends LlmError {
  override name = "ChatTemplateError";
  /** Line of the template, from 1, where it is known. */
  readonly line: number | undefined;
  constructor(message: string, line?: number, options?: ErrorOptions) {
    super("chatTemplate", shown(message, longestTemplateMessage), options);
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

/** A file that is no complete model: metadata keys or tensors that are missing, of another shape, or not understood. */
export class ModelError extends LlmError {
  override name = "ModelError";
  constructor(message: string, options?: ErrorOptions) {
    super("model", message, options);
  }
}

/** A model family that this package does not know. */
export class UnsupportedArchitectureError extends LlmError {
  override name = "UnsupportedArchitectureError";
  /** As `general.architecture` spells it. */
  readonly architecture: string;
  readonly supported: readonly string[];
  constructor(architecture: string, supported: readonly string[]) {
    super(
      "unsupportedArchitecture",
      `model: expected an architecture among {${supported.join(", ")}}, got ${shown(architecture)}; use another model`,
    );
    this.architecture = architecture;
    this.supported = supported;
  }
}

/** A prompt that leaves no room in the context, or with the policy "error" a text that fills it. Nothing was cut off. */
export class ContextOverflowError extends LlmError {
  override name = "ContextOverflowError";
  readonly promptTokens: number;
  readonly contextLength: number;
  constructor(promptTokens: number, contextLength: number, limit: number, generatedTokens: number = 0) {
    const got = generatedTokens === 0 ? `${promptTokens}` : `${promptTokens} and ${generatedTokens} generated ones`;
    super(
      "contextOverflow",
      `prompt: expected at most ${limit} tokens in a context of ${contextLength}, got ${got}; shorten it, choose an overflow policy, or load the model with a larger contextLength`,
    );
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** A session that is generating already, or a model all of whose sequences are. */
export class BusyError extends LlmError {
  override name = "BusyError";
  constructor(message: string) {
    super("busy", message);
  }
}

/** Bytes that a session cannot be restored from. */
export class SnapshotError extends LlmError {
  override name = "SnapshotError";
  /** Why: bytes of another kind, of another version, damaged ones, or those of another model or another cache. */
  readonly reason: "foreign" | "version" | "damaged" | "otherModel" | "otherCache";
  constructor(reason: SnapshotError["reason"], message: string, options?: ErrorOptions) {
    super("snapshot", message, options);
    this.reason = reason;
  }
}
