/** A template that is not valid. `at` is an offset into its source. */
export class SyntaxFault extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** An operation on a value that it does not accept. */
export class EvaluationError extends Error {}

/** A template that exceeds a limit. The message names the limit. */
export class LimitError extends Error {}

/** A call of `raise_exception`, with its message. */
export class RaisedException extends Error {}
