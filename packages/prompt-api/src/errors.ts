/** An error of more tokens than the context holds. Browsers that have the class of this name get theirs. */
interface QuotaExceeded extends DOMException {
  /** Tokens that the context would have to hold. */
  readonly requested: number;
  /** Tokens that it holds. */
  readonly quota: number;
}

/** Names of DOMExceptions by the codes of the engine's errors. */
const names: Readonly<Record<string, string>> = {
  busy: "OperationError",
  chatTemplate: "NotSupportedError",
  disposed: "InvalidStateError",
  unsupported: "NotSupportedError",
  unsupportedArchitecture: "NotSupportedError",
  GRAMMAR_UNSUPPORTED: "NotSupportedError",
  GRAMMAR_BUDGET: "NotSupportedError",
  GRAMMAR_EMPTY: "SyntaxError",
  GRAMMAR_DEAD_END: "SyntaxError",
};

/** Codes of arguments that are no valid schema, tool or option. */
const typeErrorCodes: readonly string[] = ["argument", "GRAMMAR_SYNTAX", "GRAMMAR_REFERENCE", "GRAMMAR_ARGUMENT"];

/** Codes of failed downloads. */
const networkCodes: readonly string[] = ["io", "missing", "changed", "corrupt"];

/** An exception of the web platform with the error that caused it, if any. */
export function domException(name: string, message: string, cause?: unknown): DOMException {
  const error = new DOMException(message, name);
  return cause === undefined ? error : Object.defineProperty(error, "cause", { value: cause, configurable: true, writable: true });
}

/** @throws {DOMException} NotSupportedError always */
export function refuse(what: string, reason: string): never {
  throw domException("NotSupportedError", `${what}: ${reason}`);
}

/** The error of a prompt that does not fit into the context, counted in tokens. */
export function quotaExceeded(requested: number, quota: number): QuotaExceeded {
  const message = `context: expected at most ${quota} tokens, got ${requested}; shorten the prompt, or load the model with a longer context`;
  const { QuotaExceededError: Own } = globalThis as { QuotaExceededError?: new (message: string, options: object) => QuotaExceeded };
  if (typeof Own === "function") return new Own(message, { requested, quota });
  return Object.assign(domException("QuotaExceededError", message), { requested, quota });
}

/** A prompt that leaves too little room for an answer, in the form of the engine's own error. */
export class TightContextError extends Error {
  override name = "TightContextError";
  readonly code = "contextOverflow";
  readonly promptTokens: number;

  constructor(promptTokens: number) {
    super(`context: expected room for an answer after the prompt, got ${promptTokens} tokens of prompt`);
    this.promptTokens = promptTokens;
  }
}

/** Tokens of the prompt that an error of the engine refuses because of its length; undefined for other errors. */
export function overflowOf(error: unknown): number | undefined {
  return codeOf(error) === "contextOverflow" ? (error as { readonly promptTokens: number }).promptTokens : undefined;
}

/** An error of the engine as the web platform's. Others, such as a signal's reason, stay as they are. */
export function promptError(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof DOMException) return error;
  const { message } = error as Error;
  if (typeErrorCodes.includes(code)) return new TypeError(message, { cause: error });
  return domException(names[code] ?? "UnknownError", message, error);
}

/** The error of a model that could not be loaded. @param isRemote whether the model is downloaded */
export function loadError(error: unknown, isRemote: boolean): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof DOMException) return error;
  const isNetwork = isRemote && networkCodes.includes(code);
  return domException(isNetwork ? "NetworkError" : "OperationError", (error as Error).message, error);
}

/** Errors of the engine have codes, which are the same in a worker. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
