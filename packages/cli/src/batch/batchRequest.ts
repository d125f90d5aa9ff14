import type { Line } from "./lines.ts";

/** A request of a batch file. */
export interface BatchRequest {
  /** Number of its line, from 1. */
  readonly line: number;
  readonly customId: string;
  /** Path of the route: `/v1/chat/completions`. */
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Text in the order in which the model reads it. Requests whose texts begin in the same way share computed tokens. */
  readonly text: string;
}

/** A line that is no request. */
export interface BadLine {
  readonly line: number;
  /** What was expected, and what the line has. */
  readonly problem: string;
}

/** A line that is no request, but has a `custom_id`. */
export interface BadRequest extends BadLine {
  readonly customId: string;
}

/** Reads a line of OpenAI's batch format. An empty line is neither a request nor bad. */
export function readRequest({ number: line, text }: Line, maxBytes: number): BatchRequest | BadRequest | BadLine | undefined {
  if (text === undefined) return { line, problem: `expected at most ${maxBytes} bytes, got more` };
  if (text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { line, problem: `expected JSON, got ${(error as Error).message}` };
  }
  if (!isObject(value)) return { line, problem: `expected a JSON object, got ${JSON.stringify(value).slice(0, 40)}` };
  const { custom_id: customId, method = "POST", url, body } = value;
  if (typeof customId !== "string" || customId === "") return { line, problem: `custom_id: expected a text, got ${shown(customId)}` };
  const bad = (problem: string): BadRequest => ({ line, customId, problem });
  if (method !== "POST") return bad(`method: expected "POST", got ${shown(method)}`);
  if (typeof url !== "string" || !url.startsWith("/v1/"))
    return bad(`url: expected a path such as "/v1/chat/completions", got ${shown(url)}`);
  if (!isObject(body)) return bad(`body: expected an object, got ${shown(body)}`);
  if (body.stream === true) return bad("body.stream: expected false in a batch, got true; leave it out");
  return { line, customId, url, body, text: promptText(url, body) };
}

/** Fields of prompts in the order in which chat templates use them. */
const promptFields = ["tools", "system", "instructions", "messages", "prompt", "input", "query", "documents"];

function promptText(url: string, body: Readonly<Record<string, unknown>>): string {
  return [url, body.model, ...promptFields.map((name) => body[name])]
    .flatMap((value) => (value === undefined ? [] : typeof value === "string" ? value : JSON.stringify(value)))
    .join("\n");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 40);
}
