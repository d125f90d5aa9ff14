import { CentellaError } from "@centella/core";

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

/** A chat template that is missing, cannot be parsed or rendered, or that rejected the messages by `raise_exception`. */
export class ChatTemplateError extends LlmError {
  override name = "ChatTemplateError";
  /** Line of the template, from 1, where it is known. */
  readonly line: number | undefined;
  constructor(message: string, line?: number, options?: ErrorOptions) {
    super("chatTemplate", message, options);
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
