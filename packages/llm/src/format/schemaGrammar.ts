import { fromJsonSchema, type JsonSchema, type JsonSchemaGrammar, type JsonSchemaOptions } from "@centella/grammar";

/** Grammars by their schemas and options, the least recently used first. */
const kept = new Map<string, JsonSchemaGrammar>();
const maxKept = 64;
/** Length of a schema's JSON up to which its grammar is kept. */
const maxKeyLength = 2 ** 16;

/** What the grammar of a schema depends on. */
export interface SchemaGrammarOptions extends Pick<JsonSchemaOptions, "whitespace" | "maxWhitespace"> {
  readonly signal: AbortSignal | undefined;
}

/** The grammar of a JSON Schema, which is made once for schemas of the same JSON. @throws as `fromJsonSchema` */
export function schemaGrammar(schema: JsonSchema, { signal, ...options }: SchemaGrammarOptions): JsonSchemaGrammar {
  signal?.throwIfAborted();
  const key = keyOf([schema, options]);
  const known = key === undefined ? undefined : kept.get(key);
  const grammar = known ?? fromJsonSchema(schema, { ...options, ...(signal && { signal }) });
  if (key === undefined) return grammar;
  kept.delete(key);
  kept.set(key, grammar);
  const [oldest] = kept.keys();
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
  return grammar;
}

function keyOf(value: unknown): string | undefined {
  try {
    const key = JSON.stringify(value);
    return key.length > maxKeyLength ? undefined : key;
  } catch {
    // Schemas with cycles, or too deep for the stack.
    return undefined;
  }
}
