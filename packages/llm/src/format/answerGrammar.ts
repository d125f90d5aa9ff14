import { choice, fromGbnf, fromLark, fromRegex, type Grammar, type JsonSchemaGrammar, text } from "@centella/grammar";
import type { AnswerFormat } from "./answerFormat.ts";
import { schemaGrammar } from "./schemaGrammar.ts";
import { jsonSchemaOf } from "./standardSchema.ts";

/**
 * The grammar of a format, with sentences on keywords that have no effect.
 * @throws {GrammarError}; the signal's reason
 */
export function answerGrammar(
  format: AnswerFormat,
  signal: AbortSignal | undefined,
): { readonly grammar: Grammar; readonly warnings: readonly string[] } {
  const plain = (grammar: Grammar) => ({ grammar, warnings: [] });
  if (format !== "json" && !("schema" in format)) {
    if ("regex" in format) return plain(fromRegex(format.regex));
    if ("gbnf" in format) return plain(fromGbnf(format.gbnf));
    if ("choice" in format) return plain({ start: choice(format.choice.map(text)), rules: {} });
    return withWarnings(fromLark(format.lark));
  }
  return withWarnings(schemaGrammar(format === "json" ? true : jsonSchemaOf(format.schema), { signal }));
}

function withWarnings(grammar: JsonSchemaGrammar): { readonly grammar: Grammar; readonly warnings: readonly string[] } {
  const warnings = grammar.warnings.map(({ keyword, pointer, reason }) => `format: ${keyword} of the schema at "${pointer}": ${reason}`);
  return { grammar, warnings };
}
