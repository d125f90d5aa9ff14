import { CentellaError } from "@centella/quant";

export { ArgumentError, CentellaError, DisposedError } from "@centella/quant";

/**
 * What went wrong: outside of the file (`io`, `changed`, `quota`, `busy`, `storage`, `exists`), in the file (`not-gguf`, `version`,
 * `truncated`, `limit`, `invalid`, `duplicate`, `unknown-type`, `parts`, `corrupt`), or in the request (`missing`, `wrong-type`, `range`,
 * `no-room`, `unsupported-type`).
 */
export type GgufErrorCode =
  | "io"
  | "changed"
  | "quota"
  | "busy"
  | "storage"
  | "exists"
  | "not-gguf"
  | "version"
  | "truncated"
  | "limit"
  | "invalid"
  | "duplicate"
  | "unknown-type"
  | "parts"
  | "corrupt"
  | "missing"
  | "wrong-type"
  | "range"
  | "no-room"
  | "unsupported-type";

/** The parts of an error's message. `expected` and `got` are words or figures; `hint` says what to do. */
export interface GgufErrorDetails {
  readonly expected: string;
  readonly got: string;
  /** Byte of the file that the error is about. */
  readonly offset?: number | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Says it better than "expected X, got Y" where nothing was compared. */
  readonly summary?: string | undefined;
}

/** Every error about a GGUF file: `gguf: expected X, got Y at byte N; what to do`. */
export class GgufError extends CentellaError {
  override name = "GgufError";
  declare readonly code: GgufErrorCode;
  readonly expected: string;
  readonly got: string;
  readonly offset: number | undefined;

  constructor(code: GgufErrorCode, details: GgufErrorDetails) {
    const place = details.offset === undefined ? "" : ` at byte ${details.offset}`;
    const hint = details.hint === undefined ? "" : `; ${details.hint}`;
    const summary = details.summary ?? `expected ${details.expected}, got ${details.got}`;
    super(code, `gguf: ${summary}${place}${hint}`, details.cause === undefined ? {} : { cause: details.cause });
    this.expected = details.expected;
    this.got = details.got;
    this.offset = details.offset;
  }
}
