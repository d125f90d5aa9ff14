import { schemaGrammar } from "../../format/schemaGrammar.ts";
import type { ArgumentSyntax } from "../formats/toolFormat.ts";
import type { ArgumentFamily } from "./argumentFamily.ts";
import { JsonReader } from "./jsonReader.ts";

const jsonFamily = (maxWhitespace: number): ArgumentFamily => ({
  createReader: () => new JsonReader(),
  grammar(name, schema, { signal }) {
    const grammar = schemaGrammar(schema, { whitespace: "any", maxWhitespace, signal });
    const warnings = grammar.warnings.map(
      ({ keyword, pointer, reason }) => `tools: ${keyword} of the schema of ${name} at "${pointer}": ${reason}`,
    );
    return { grammar, warnings };
  },
});

/** The family of a syntax. The code of those without JSON is loaded on demand. */
export async function argumentFamily(syntax: ArgumentSyntax): Promise<ArgumentFamily> {
  if (syntax.kind === "tagged") return (await import("./taggedFamily.ts")).taggedFamily(syntax);
  if (syntax.kind === "notation") return (await import("./notationFamily.ts")).notationFamily(syntax);
  return jsonFamily(syntax.maxSpace);
}
