import type { NotationSyntax } from "../formats/toolFormat.ts";
import type { ArgumentFamily } from "./argumentFamily.ts";
import { notationGrammar } from "./notationGrammar.ts";
import { NotationReader } from "./notationReader.ts";

/** The family of arguments in the notation of Python or Gemma. */
export function notationFamily(syntax: NotationSyntax): ArgumentFamily {
  return {
    createReader: () => new NotationReader(syntax),
    grammar: (name, schema, context) => ({ grammar: notationGrammar(name, schema, context, syntax), warnings: [] }),
  };
}
