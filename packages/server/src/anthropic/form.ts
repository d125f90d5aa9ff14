import type { ApiError } from "../errors.ts";
import { type ApiForm, serverSentEvent } from "../http/apiForm.ts";

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};

function bodyOf({ message, status }: ApiError, requestId: string): object {
  return { type: "error", error: { type: types[status] ?? "api_error", message }, request_id: requestId };
}

/** Errors of Anthropic's API. */
export const anthropicForm: ApiForm = {
  error: bodyOf,
  errorChunk: (error, requestId) => serverSentEvent(bodyOf(error, requestId), "error"),
};
