import type { AnswerFormat } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";

/** JSON Schemas, as clients send them. The engine checks them. */
export const schemaField = z.union([z.record(z.string(), z.unknown()), z.boolean()]);

export type Schema = z.output<typeof schemaField>;

/** The schema of JSON whose form is not said. */
export const anyObject: Schema = { type: "object" };

/**
 * The only one of several formats that is given, with the field that gives it.
 * @throws {ApiError} 400 for two
 */
export function onlyFormat(given: Readonly<Record<string, AnswerFormat | undefined>>): AnswerFormat | undefined {
  const [first, second] = Object.entries(given).filter(([, format]) => format !== undefined);
  if (second !== undefined)
    throw new ApiError(400, "invalid_value", `${second[0]}: expected one format, got ${first![0]}, too; leave one out`, {
      param: second[0],
    });
  return first?.[1];
}

/** A schema that clients send, as a format. */
export function schemaFormat(schema: Schema): AnswerFormat {
  // `JsonSchema` is the type of schemas that are written in code.
  return { schema } as AnswerFormat;
}
