import type { ApiError } from "../errors.ts";
import type { ApiForm } from "../http/apiForm.ts";

function bodyOf({ message }: ApiError): object {
  return { error: message };
}

/** Errors of Ollama's API. */
export const ollamaForm: ApiForm = {
  error: bodyOf,
  errorChunk: (error) => `${JSON.stringify(bodyOf(error))}\n`,
};
