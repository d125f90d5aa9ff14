import type { ApiError } from "../errors.ts";
import { type ApiForm, serverSentEvent } from "../http/apiForm.ts";

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "invalid_request_error",
  413: "invalid_request_error",
  429: "rate_limit_error",
  501: "not_supported_error",
  503: "unavailable_error",
};

function bodyOf({ message, status, code, param }: ApiError): object {
  return { error: { message, type: types[status] ?? "server_error", code, param: param ?? null } };
}

/** Errors of OpenAI's API, which llama-server has, too. */
export const openaiForm: ApiForm = {
  error: bodyOf,
  errorChunk: (error) => serverSentEvent(bodyOf(error)),
};
