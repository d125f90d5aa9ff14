import { ArgumentError, UnsupportedError } from "@centella/core";
import type { JsonSchema } from "@centella/grammar";
import { boolean, describe, either, isRecord, type Kind, listOf, object, string } from "@centella/quant/checks";

/**
 * What an answer must match as a whole: any JSON text, JSON that is valid under a schema, a regular expression (ECMA-262), a grammar in
 * llama.cpp's GBNF or in llguidance's variant of Lark, or one of several texts. `@centella/grammar` describes each of them.
 */
export type AnswerFormat =
  | "json"
  | { readonly schema: JsonSchema }
  | { readonly regex: string }
  | { readonly gbnf: string }
  | { readonly lark: string }
  | { readonly choice: readonly string[] };

const sources: Readonly<Record<string, Kind>> = {
  schema: either(boolean, object),
  regex: string,
  gbnf: string,
  lark: string,
  choice: listOf("strings", string),
};

/**
 * Checks the shape of a format. What it describes is checked when it is compiled.
 * @throws {ArgumentError | UnsupportedError}
 */
export function checkFormat(format: unknown): void {
  if (format === "json") return;
  const entries = isRecord(format) ? Object.entries(format) : [];
  const [name, source] = entries[0] ?? [];
  const isKnown = name !== undefined && Object.hasOwn(sources, name) && entries.length === 1;
  if (!isKnown || !sources[name]?.accepts(source))
    throw new ArgumentError(
      "format",
      '"json" or an object with one of schema, regex, gbnf, lark, choice',
      isKnown ? `${name}: ${describe(source)}` : describe(format),
    );
  if (isRecord(source) && "~standard" in source)
    throw new UnsupportedError(
      "format",
      "schemas are JSON Schemas, not types of a validation library; pass what the library converts them to",
    );
}
