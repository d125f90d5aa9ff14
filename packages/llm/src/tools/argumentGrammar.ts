import { UnsupportedError } from "@centella/core";
import { fromJsonSchema, type Grammar, type JsonSchema } from "@centella/grammar";
import { isRecord } from "@centella/quant/checks";
import type { Markup } from "../format/markup.ts";
import { notationGrammar } from "./notationGrammar.ts";
import { taggedGrammar } from "./taggedGrammar.ts";
import type { ObjectSchema } from "./schemaParts.ts";
import type { ArgumentSyntax } from "./toolFormat.ts";
import type { Tool } from "./tools.ts";

/** How the arguments of a tool are constrained. */
export interface ArgumentContext {
  readonly syntax: ArgumentSyntax;
  readonly markup: Markup;
  readonly signal: AbortSignal | undefined;
  /** Whether the tool's schema applies. Otherwise arguments are any object. */
  readonly isStrict: boolean;
}

/** The grammar of a tool's arguments, with sentences on what it does not enforce. */
export interface ArgumentGrammar {
  readonly grammar: Grammar;
  readonly warnings: readonly string[];
}

/** Most characters of white space in one place of the arguments: what templates indent by. */
const maxWhitespace = 20;

/**
 * The grammar of a tool's arguments.
 * @throws {GrammarError} as `fromJsonSchema`; {UnsupportedError} for a schema that cannot be enforced in a format without JSON
 */
export function argumentGrammar(tool: Tool, context: ArgumentContext): ArgumentGrammar {
  const { syntax, signal, isStrict } = context;
  const schema = objectSchema(tool, isStrict);
  if (syntax.kind === "tagged") return { grammar: taggedGrammar(tool.name, schema, context.markup, syntax), warnings: [] };
  if (syntax.kind === "notation") return { grammar: notationGrammar(tool.name, schema, context.markup, syntax), warnings: [] };
  const grammar = fromJsonSchema(schema, { whitespace: "any", maxWhitespace, ...(signal && { signal }) });
  const warnings = grammar.warnings.map(
    ({ keyword, pointer, reason }) => `tools: ${keyword} of the schema of ${tool.name} at "${pointer}": ${reason}`,
  );
  return { grammar, warnings };
}


function objectSchema({ name, inputSchema = true }: Tool, isStrict: boolean): ObjectSchema {
  const schema: JsonSchema = isStrict ? (inputSchema as JsonSchema) : true;
  if (schema === true) return { type: "object" };
  if (!isRecord(schema) || (schema.type !== undefined && schema.type !== "object"))
    throw new UnsupportedError("tools", `the schema of ${name} allows arguments that are no object`);
  return { ...schema, type: "object" };
}
