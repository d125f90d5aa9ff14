import { readFileSync } from "node:fs";
import type { AnswerFormat } from "@centella/llm";
import { grouped, type OptionSpec, type OptionValues, repeated, text } from "./options.ts";
import { UsageError } from "./usageError.ts";

/** Options that say what an answer must match. */
export type FormatOptions = {
  readonly schema: OptionSpec<string>;
  readonly regex: OptionSpec<string>;
  readonly grammar: OptionSpec<string>;
  readonly choice: OptionSpec<readonly string[]>;
};

/** See {@link FormatOptions}. */
export const formatOptions: FormatOptions = grouped("Format of the answer (one of these)", {
  schema: text("FILE|JSON", "JSON that is valid under a JSON Schema", { aliases: ["--json-schema"] }),
  regex: text("EXPRESSION", "text that matches a regular expression as a whole"),
  grammar: text("FILE", "text of a grammar in GBNF", { aliases: ["--grammar-file"] }),
  choice: repeated("TEXT", "one of these texts", (given) => given),
});

/** Returns the given format. @throws {UsageError} for several formats, and for a schema that is no JSON */
export function readFormat(values: OptionValues<FormatOptions>): AnswerFormat | undefined {
  const { schema, regex, grammar, choice } = values;
  const given = Object.entries({ schema, regex, grammar, choice }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]));
  if (given.length > 1) throw new UsageError(`format: expected one format of the answer, got ${given.join(" and ")}`);
  if (schema !== undefined) return { schema: schemaOf(schema) };
  if (regex !== undefined) return { regex };
  if (grammar !== undefined) return { gbnf: readFileSync(grammar, "utf8") };
  return choice === undefined ? undefined : { choice };
}

function schemaOf(given: string): boolean | Readonly<Record<string, unknown>> {
  const isText = /^\s*(\{|true$|false$)/.test(given);
  const source = isText ? given : readFileSync(given, "utf8");
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new UsageError(`--schema: expected a JSON Schema${isText ? "" : ` in ${given}`}, got ${(error as Error).message}`);
  }
}
