import type { TaggedSyntax } from "../formats/toolFormat.ts";
import type { ArgumentFamily } from "./argumentFamily.ts";
import { taggedGrammar } from "./taggedGrammar.ts";
import { TaggedReader } from "./taggedReader.ts";

/** The family of arguments between markup. */
export function taggedFamily(syntax: TaggedSyntax): ArgumentFamily {
  return {
    createReader: (schema) => new TaggedReader(syntax, schema),
    grammar: (name, schema, context) => ({ grammar: taggedGrammar(name, schema, context, syntax), warnings: [] }),
  };
}
