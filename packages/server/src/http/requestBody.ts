import { ApiError } from "../errors.ts";
import type { Route } from "./route.ts";

/** The JSON of a request's body. @throws {ApiError} 400; 413 for a body of more than `maxBytes`; 499 if the client leaves */
export async function bodyOf(
  request: Request,
  { isBodyOptional = false }: Pick<Route, "isBodyOptional">,
  maxBytes: number,
): Promise<unknown> {
  const text = await textOf(request, maxBytes);
  if (isBodyOptional && text === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, "invalid_json", `body: expected JSON, got ${text === "" ? "nothing" : (error as Error).message}`);
  }
}

async function textOf(request: Request, maxBytes: number): Promise<string> {
  const { headers } = request;
  const length = headers.get("content-length");
  if (Number(length) > maxBytes) throw tooLarge(maxBytes);
  try {
    // A body of a stated length has no more bytes.
    return length !== null && !headers.has("transfer-encoding") ? await request.text() : await limitedText(request, maxBytes);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(499, "cancelled", "the client left before its whole request had come", { cause: error });
  }
}

/** Reads a body of unknown length, and stops where it is too large. */
async function limitedText({ body }: Request, maxBytes: number): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw tooLarge(maxBytes);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, "body_too_large", `body: expected at most ${maxBytes} bytes, got more`);
}
