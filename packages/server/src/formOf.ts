import { anthropicForm } from "./anthropic/form.ts";
import type { ApiForm } from "./http/apiForm.ts";
import { ollamaForm } from "./ollama/form.ts";
import { openaiForm } from "./openai/form.ts";

/** The form of the API that a path belongs to. */
export function formOf(path: string): ApiForm {
  if (path.startsWith("/api/")) return ollamaForm;
  return path === "/v1/messages" || path.startsWith("/v1/messages/") ? anthropicForm : openaiForm;
}
