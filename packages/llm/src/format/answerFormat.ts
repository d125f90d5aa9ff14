import { ArgumentError } from "@centella/core";
import type { JsonSchema } from "@centella/grammar";
import { boolean, describe, either, isRecord, type Kind, kind, listOf, object, string } from "@centella/quant/checks";
import type { StandardSchema } from "./schemaTypes.ts";
import { isStandard } from "./standardSchema.ts";

/**
 * What an answer must match as a whole: any JSON text, JSON that is valid under a schema or a type of a validation library (Zod 4 and
 * others with the interface of standardschema.dev), a regular expression (ECMA-262), a grammar in
 * llama.cpp's GBNF or in llguidance's variant of Lark, or one of several texts. `@centella/grammar` describes each of them.
 */
export type AnswerFormat =
  | "json"
  | { readonly schema: JsonSchema | StandardSchema }
  | { readonly regex: string }
  | { readonly gbnf: string }
  | { readonly lark: string }
  | { readonly choice: readonly string[] };

const sources: Readonly<Record<string, Kind>> = {
  schema: either(either(boolean, object), kind("a type of a validation library", isStandard)),
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
}
