/** Base class of every error that Centella throws. Messages have the form `op: expected X, got Y; what to do`; only `code` is stable. */
export class CentellaError extends Error {
  override name = "CentellaError";
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An argument or option of the wrong type, outside its range, or unknown. */
export class ArgumentError extends CentellaError {
  override name = "ArgumentError";
  constructor(where: string, expected: string, got: string, fix?: string) {
    super("argument", sentence(where, expected, got, fix));
  }
}

/** A handle that was used after `dispose()` or `close()`. */
export class DisposedError extends CentellaError {
  override name = "DisposedError";
  constructor(what: string, method: "dispose()" | "close()" = "dispose()") {
    super("disposed", `${what}: used after ${method}; keep the handle alive until its last use`);
  }
}

/**
 * What went wrong: an unknown type name or id, a length that does not fit the layout, a format without a decoder or encoder, or a number
 * that no block can hold.
 */
export type QuantErrorCode = "unknown-type" | "length" | "unsupported-type" | "not-finite";

/** A type, length or value that a block format cannot accept. */
export class QuantError extends CentellaError {
  override name = "QuantError";
  declare readonly code: QuantErrorCode;
  constructor(code: QuantErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** Formats a message: `where: expected X, got Y; what to do`. */
export function sentence(where: string, expected: string, got: string, fix?: string): string {
  return `${where}: expected ${expected}, got ${got}${fix === undefined ? "" : `; ${fix}`}`;
}
