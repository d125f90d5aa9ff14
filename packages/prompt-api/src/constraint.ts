import type { AnswerFormat, ChatMessage } from "@centella/llm";
import { describe, isRecord } from "@centella/quant/checks";
import { refuse } from "./errors.ts";
import type { PromptOptions } from "./types.ts";

/** What an answer must match. */
export interface Constraint {
  readonly format: AnswerFormat;
  /** The message that describes the constraint to the model, unless the caller leaves it out. */
  readonly instruction: ChatMessage | undefined;
}

type JsonSchema = Extract<AnswerFormat, { readonly schema: unknown }>["schema"];

/**
 * Reads the constraint of a call.
 * @throws {TypeError} for what is neither a schema nor a regular expression, and for `omitResponseConstraintInput` without a constraint
 * @throws {DOMException} NotSupportedError for a regular expression that is not valid with flag `u`
 */
export function readConstraint({ responseConstraint, omitResponseConstraintInput = false }: PromptOptions): Constraint | undefined {
  if (responseConstraint === undefined || responseConstraint === null) {
    if (!omitResponseConstraintInput) return undefined;
    throw new TypeError("omitResponseConstraintInput: expected a responseConstraint with it, got none");
  }
  const isRegExp = responseConstraint instanceof RegExp;
  if (!isRegExp && (!isRecord(responseConstraint) || Array.isArray(responseConstraint)))
    throw new TypeError(`responseConstraint: expected a JSON Schema or a RegExp, got ${describe(responseConstraint)}`);
  const format = isRegExp ? { regex: unicodeSource(responseConstraint) } : { schema: responseConstraint as JsonSchema };
  return { format, instruction: omitResponseConstraintInput ? undefined : instructionOf(responseConstraint) };
}

/** The source of an expression with its flags, for an engine that reads expressions with flag `u`. */
function unicodeSource(expression: RegExp): string {
  const { source, flags } = expression;
  const modifiers = flags.replace(/[^ims]/g, "");
  const text = modifiers === "" ? source : `(?${modifiers}:${source})`;
  if (flags.includes("v")) refuse(`responseConstraint ${expression}`, "flag v is not supported; use flag u");
  try {
    new RegExp(text, "u");
  } catch {
    refuse(`responseConstraint ${expression}`, "the expression is not valid with flag u; write it for that flag");
  }
  return text;
}

function instructionOf(constraint: object): ChatMessage {
  const content =
    constraint instanceof RegExp
      ? `Answer with a text that matches this regular expression, and nothing else:\n${constraint}`
      : `Answer with JSON that is valid under this JSON Schema, and nothing else:\n${JSON.stringify(constraint)}`;
  return { role: "user", content };
}
