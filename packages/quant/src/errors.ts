/**
 * What went wrong: an unknown type name or id, a length that does not fit the layout, a format without a decoder or encoder, or a number
 * that no block can hold.
 */
export type QuantErrorCode = "unknown-type" | "length" | "unsupported-type" | "not-finite";

/** Base of every error of this package. The message has the form `op: expected X, got Y; what to do`. */
export class QuantError extends Error {
  override readonly name: string = "QuantError";
  readonly code: QuantErrorCode;

  constructor(code: QuantErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
