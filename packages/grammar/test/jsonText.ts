import { compile, fromJsonSchema, type Grammar, GrammarError, type JsonSchema, type JsonSchemaOptions, vocabulary } from "../src/index.ts";

const encoder = new TextEncoder();
const byteVocabulary = vocabulary(
  Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  {},
);

/** More than enough time: verdicts do not depend on how busy the machine is. */
const budget = { steps: 1e9 };

/** Returns a function that reports whether `grammar` matches a text as a whole. */
export function acceptor(grammar: Grammar): (text: string) => boolean {
  const constraint = compile(grammar, byteVocabulary, { budget });
  return (text) => {
    const matcher = constraint.matcher();
    return matcher.acceptBytes(encoder.encode(text)) && matcher.isComplete;
  };
}

/** Returns what the schema accepts: `undefined` if it is refused, no text if no value is valid. */
export function acceptorOf(schema: JsonSchema, options: JsonSchemaOptions): ((text: string) => boolean) | undefined {
  try {
    return acceptor(fromJsonSchema(schema, { budget, ...options }));
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    return error.code === "GRAMMAR_EMPTY" ? () => false : undefined;
  }
}

/** Returns the error of a call that must throw a {@link GrammarError}. */
export function refusal(call: () => unknown): GrammarError {
  try {
    call();
  } catch (error) {
    if (error instanceof GrammarError) return error;
    throw error;
  }
  throw new Error("expected a GrammarError");
}
