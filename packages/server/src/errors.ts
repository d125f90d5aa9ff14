/** Name of a failure, the same in every API. Clients of OpenAI's API find it in `error.code`. */
export type ApiErrorCode =
  | "invalid_json"
  | "invalid_value"
  | "missing_parameter"
  | "unknown_parameter"
  | "unsupported_parameter"
  | "unsupported_value"
  | "context_length_exceeded"
  | "invalid_schema"
  | "invalid_api_key"
  | "forbidden_host"
  | "forbidden_origin"
  | "not_found"
  | "model_not_found"
  | "body_too_large"
  | "rate_limit_exceeded"
  | "queue_full"
  | "queue_timeout"
  | "request_timeout"
  | "cancelled"
  | "loading"
  | "draining"
  | "no_client"
  | "not_enabled"
  | "out_of_memory"
  | "device_lost"
  | "internal_error";

/** Details of an {@link ApiError}. */
export interface ApiErrorDetails {
  /** Field of the request that is wrong: `messages[0].content`. */
  readonly param?: string | undefined;
  /** Seconds after which the client may try again. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** A failure with its HTTP status. Each API writes it in its own form. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly param: string | undefined;
  readonly retryAfter: number | undefined;
  constructor(status: number, code: ApiErrorCode, message: string, { param, retryAfter, cause }: ApiErrorDetails = {}) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfter = retryAfter;
  }
}

/** Statuses of the engine's errors by their stable codes. All others are failures of the server. */
const engineErrors: Readonly<Record<string, readonly [status: number, code: ApiErrorCode]>> = {
  argument: [400, "invalid_value"],
  unsupported: [400, "unsupported_value"],
  chatTemplate: [400, "invalid_value"],
  tokenizer: [400, "invalid_value"],
  snapshot: [400, "invalid_value"],
  sampling: [400, "invalid_value"],
  contextOverflow: [400, "context_length_exceeded"],
  GRAMMAR_SYNTAX: [400, "invalid_schema"],
  GRAMMAR_UNSUPPORTED: [400, "invalid_schema"],
  GRAMMAR_EMPTY: [400, "invalid_schema"],
  GRAMMAR_REFERENCE: [400, "invalid_schema"],
  GRAMMAR_BUDGET: [400, "invalid_schema"],
  GRAMMAR_ARGUMENT: [400, "invalid_schema"],
  busy: [503, "queue_full"],
  disposed: [503, "draining"],
  outOfMemory: [500, "out_of_memory"],
  deviceLost: [500, "device_lost"],
};

/** An error of the engine, or of anything else, as the one that clients get. Texts of unknown errors stay in the server. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, pointer } = error as { readonly code?: unknown; readonly pointer?: unknown };
  const known = typeof code === "string" ? engineErrors[code] : undefined;
  if (known === undefined || !(error instanceof Error)) return new ApiError(500, "internal_error", "the server failed", { cause: error });
  const [status, name] = known;
  // The engine's advice is for who writes the app.
  if (code === "contextOverflow") return new ApiError(status, name, `${error.message.split(";")[0]}; send a shorter one`, { cause: error });
  const isNamed = typeof pointer !== "string" || error.message.includes(JSON.stringify(pointer));
  const place = isNamed ? "" : ` (at ${JSON.stringify(pointer)})`;
  return new ApiError(status, name, error.message + place, { cause: error, ...(status === 503 && { retryAfter: 1 }) });
}
