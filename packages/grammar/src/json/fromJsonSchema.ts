import { type Budget, Meter } from "../budget.ts";
import { argumentError, objectOf, shown } from "../checks.ts";
import { never } from "../expression/builders.ts";
import type { Expression, Grammar } from "../expression/types.ts";
import { Documents, type JsonSchema, pointerOf, type SchemaWarning, schemaError } from "./documents.ts";
import { Emitter } from "./emitter.ts";
import type { Order } from "./objects.ts";
import { productiveOf } from "./productive.ts";
import { States } from "./states.ts";
import { styleOf, type Whitespace } from "./style.ts";

/** How texts are written, and what happens with keywords that have no effect. */
export interface JsonSchemaOptions {
  /** `"compact"`: none. `"pretty"`: as `JSON.stringify(value, null, 2)` writes it. `"any"`: up to `maxWhitespace` wherever JSON allows it. Default: `"compact"`. */
  readonly whitespace?: Whitespace;
  /** Characters of white space in one place with `whitespace: "any"`. Default: 20. */
  readonly maxWhitespace?: number;
  /** Order of properties: that of the schema, where properties that it does not name come last, or `"any"`. Default: `"schema"`. */
  readonly order?: Order;
  /** What happens with keywords and formats that JSON Schema does not define: they are listed in `warnings` and ignored, or an error. Default: `"warn"`. */
  readonly unknownKeywords?: "warn" | "error";
  /** Limits of time and memory. */
  readonly budget?: Budget;
  /** Aborts the work. */
  readonly signal?: AbortSignal;
}

/** The grammar of a schema, with the keywords of it that have no effect. */
export interface JsonSchemaGrammar extends Grammar {
  readonly warnings: readonly SchemaWarning[];
}

const defaultMaxWhitespace = 20;

/**
 * Returns the grammar of the JSON texts that are valid under `schema`, a JSON Schema of draft 7 or 2020-12 (also 4, 6 and 2019-09, named by
 * `$schema`). Every text of the grammar parses to a valid value. Strings and numbers are in the notations that `JSON.stringify` writes,
 * with controls also as `\u00XX` and numbers also with further digits.
 *
 * @throws {GrammarError} with `pointer`, `keyword` and `reason`. `GRAMMAR_SYNTAX`: a keyword has a value that JSON Schema does not allow.
 * `GRAMMAR_REFERENCE`: a reference to another document, to nothing, or to itself without a value in between. `GRAMMAR_UNSUPPORTED`: a
 * keyword cannot be enforced. `GRAMMAR_EMPTY`: no value is valid. `GRAMMAR_BUDGET`: the schema takes more work than `budget` allows.
 */
export function fromJsonSchema(schema: JsonSchema, options: JsonSchemaOptions = {}): JsonSchemaGrammar {
  const {
    whitespace = "compact",
    order = "schema",
    unknownKeywords = "warn",
    maxWhitespace = defaultMaxWhitespace,
  } = objectOf("fromJsonSchema", "options", options);
  oneOf("whitespace", whitespace, ["compact", "pretty", "any"]);
  oneOf("order", order, ["schema", "any"]);
  oneOf("unknownKeywords", unknownKeywords, ["warn", "error"]);
  if (!Number.isSafeInteger(maxWhitespace) || maxWhitespace < 0) {
    throw argumentError("fromJsonSchema", "maxWhitespace to be a whole number", shown(maxWhitespace));
  }
  const meter = new Meter(options.budget, options.signal);
  const documents = new Documents(schema, meter);
  const states = new States(documents, meter);
  const emitter = new Emitter(states, styleOf(whitespace, maxWhitespace), order);
  const start: Expression = emitter.value(states.state([{ node: documents.root, isNegated: false }]), 0);
  emitter.finish();
  const grammar = productiveOf({ start, rules: emitter.rules }, states);
  if (grammar.start === never) throw schemaError("GRAMMAR_EMPTY", documents.root, "schema", "no value is valid");
  const [unknown] = documents.warnings;
  if (unknownKeywords === "error" && unknown !== undefined) {
    throw schemaError("GRAMMAR_UNSUPPORTED", unknown.node, unknown.keyword, unknown.reason);
  }
  return { ...grammar, warnings: documents.warnings.map(({ node, ...rest }) => ({ pointer: pointerOf(node), ...rest })) };
}

function oneOf(name: string, value: string, values: readonly string[]): void {
  if (!values.includes(value)) throw argumentError("fromJsonSchema", `${name} to be ${values.join(", ")}`, shown(value));
}
