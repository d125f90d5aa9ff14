/** A template that is not valid. `at` is an offset into its source. */
export class SyntaxFault extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** A value that an operation does not accept. */
export class EvaluationError extends Error {}

/** A limit that a template ran into: what was allowed. */
export class LimitError extends Error {}

/** What `raise_exception` was called with. */
export class RaisedException extends Error {}
