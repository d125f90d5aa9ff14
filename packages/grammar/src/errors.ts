/**
 * What went wrong. `GRAMMAR_SYNTAX`: the source text or schema is malformed. `GRAMMAR_UNSUPPORTED`: an assertion or construct that cannot be
 * enforced. `GRAMMAR_EMPTY`: no text matches. `GRAMMAR_REFERENCE`: a rule or `$ref` without a definition. `GRAMMAR_BUDGET`: the work exceeds
 * the budget. `GRAMMAR_DEAD_END`: no token of the vocabulary goes on with a text. `GRAMMAR_ARGUMENT`: an argument of the wrong type or outside its range.
 */
export type GrammarErrorCode =
  | "GRAMMAR_SYNTAX"
  | "GRAMMAR_UNSUPPORTED"
  | "GRAMMAR_EMPTY"
  | "GRAMMAR_REFERENCE"
  | "GRAMMAR_BUDGET"
  | "GRAMMAR_DEAD_END"
  | "GRAMMAR_ARGUMENT";

/** Where an error is in the source that the caller passed, as far as it is known. */
export interface GrammarErrorPlace {
  /** JSON pointer into the schema. */
  readonly pointer?: string;
  /** Keyword of the schema, or construct of the regular expression or grammar. */
  readonly keyword?: string;
  /** Why the keyword or construct is refused, in a few words. */
  readonly reason?: string;
  /** Line in the grammar's text, from 1. */
  readonly line?: number;
  /** Column in that line, from 1. */
  readonly column?: number;
  /** The text so far, at a dead end. */
  readonly text?: string;
}

/** A grammar, schema or expression that cannot be enforced. Messages have the form `op: expected X, got Y; what to do`; only `code` is stable. */
export class GrammarError extends Error implements GrammarErrorPlace {
  override name = "GrammarError";
  readonly code: GrammarErrorCode;
  readonly pointer?: string;
  readonly keyword?: string;
  readonly reason?: string;
  readonly line?: number;
  readonly column?: number;
  readonly text?: string;
  constructor(code: GrammarErrorCode, message: string, place: GrammarErrorPlace = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    Object.assign(this, place);
  }
}
