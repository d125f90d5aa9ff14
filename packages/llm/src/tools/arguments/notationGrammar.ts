import {
  and,
  bytes,
  choice,
  type Expression,
  empty,
  type Grammar,
  type Regular,
  reference,
  repeat,
  sequence,
  text,
} from "@centella/grammar";
import { isRecord } from "@centella/quant/checks";
import { textWithout } from "../../format/markup.ts";
import { schemaGrammar } from "../../format/schemaGrammar.ts";
import type { NotationSyntax, ValueType } from "../formats/toolFormat.ts";
import type { ArgumentContext } from "./argumentFamily.ts";
import {
  alternativesOf,
  memberList,
  type ObjectSchema,
  propertiesOf,
  resolved,
  type SchemaContext,
  stringsOf,
  target,
  unsupported,
} from "./schemaParts.ts";
import { typesOfSchema } from "./valueTypes.ts";

/** Quotation mark of Gemma. */
const gemmaQuote = '<|"|>';

/**
 * The grammar of arguments as keys and values in the notation of Python or Gemma.
 * @throws {UnsupportedError} for a schema that cannot be enforced like this; {GrammarError}; the signal's reason
 */
export function notationGrammar(tool: string, root: ObjectSchema, given: ArgumentContext, syntax: NotationSyntax): Grammar {
  return new NotationWriter({ tool, root }, given, syntax).grammar();
}

class NotationWriter {
  readonly #context: SchemaContext;
  readonly #given: ArgumentContext;
  readonly #syntax: NotationSyntax;
  readonly #rules: Record<string, Expression> = {};
  readonly #names = new Map<ObjectSchema, string>();

  constructor(context: SchemaContext, given: ArgumentContext, syntax: NotationSyntax) {
    this.#context = context;
    this.#given = given;
    this.#syntax = syntax;
  }

  grammar(): Grammar {
    const { assign, comma, end } = this.#syntax;
    const root = resolved(this.#context.root, this.#context);
    const members = this.#members(root, (name) => text(name), assign);
    const start = memberList(members, { first: empty, next: text(comma), prefix: "argument", rules: this.#rules });
    return { start: sequence([start, end]), rules: this.#rules };
  }

  #members(schema: ObjectSchema, key: (name: string) => Regular, assign: string) {
    return propertiesOf(schema).map(([name, property, isRequired]) => ({
      isRequired,
      item: sequence([key(name), assign, this.#value(property)]),
    }));
  }

  /** A value, as a rule for each schema, since schemas may contain themselves. */
  #value(given: unknown): Expression {
    const schema = target(given, this.#context);
    const isAny = Object.keys(schema).length === 0;
    const known = this.#names.get(isAny ? anySchema : schema);
    if (known !== undefined) return reference(known);
    const name = `value${this.#names.size}`;
    this.#names.set(isAny ? anySchema : schema, name);
    const alternatives = alternativesOf(schema, this.#context);
    this.#rules[name] = choice(alternatives.flatMap((each) => [...typesOfSchema(each)].map((type) => this.#ofType(type, each))));
    return reference(name);
  }

  #ofType(type: ValueType, schema: ObjectSchema): Expression {
    const isPython = this.#syntax.notation === "python";
    const values = schema.const !== undefined ? [schema.const] : schema.enum;
    const allows = (value: unknown): boolean => !Array.isArray(values) || values.includes(value);
    switch (type) {
      case "null":
        return text(isPython ? "None" : "null");
      case "boolean":
        return choice([true, false].filter(allows).map((value) => text(this.#word(value))));
      case "number":
        return this.#json(schema, schema.type === "integer" ? "integer" : "number");
      case "string":
        return this.#string(schema);
      case "array":
        return this.#array(schema);
      case "object":
        return this.#object(schema);
    }
  }

  #word(value: boolean): string {
    const word = `${value}`;
    return this.#syntax.notation === "python" ? word.charAt(0).toUpperCase() + word.slice(1) : word;
  }

  #string(schema: ObjectSchema): Expression {
    if (this.#syntax.notation === "gemma") {
      const quote = this.#given.markup.item(gemmaQuote);
      return sequence([quote, and([stringsOf(schema, this.#context), textWithout(gemmaQuote)]), quote]);
    }
    // JSON's strings are Python's as well.
    return this.#json(schema, "string");
  }

  /** JSON's notation of a scalar. */
  #json(schema: ObjectSchema, type: string): Expression {
    return schemaGrammar({ ...schema, type }, { signal: this.#given.signal }).start;
  }

  #array(schema: ObjectSchema): Expression {
    if (schema.enum !== undefined || schema.const !== undefined) throw unsupported(this.#context, "lists among the allowed values");
    const item = this.#value(schema.items);
    const { minItems = 0, maxItems = Infinity } = schema as { readonly minItems?: number; readonly maxItems?: number };
    const some = sequence([item, repeat(sequence([this.#syntax.comma, item]), Math.max(0, minItems - 1), Math.max(0, maxItems - 1))]);
    const inside = minItems > 0 ? some : maxItems === 0 ? empty : choice([empty, some]);
    return sequence(["[", inside, "]"]);
  }

  #object(schema: ObjectSchema): Expression {
    if (schema.enum !== undefined || schema.const !== undefined) throw unsupported(this.#context, "objects among the allowed values");
    const colon = this.#syntax.notation === "python" ? ": " : ":";
    const key = (name: string): Regular => text(this.#syntax.notation === "python" ? JSON.stringify(name) : name);
    const next = text(this.#syntax.comma);
    const members = this.#members(schema, key, colon);
    if (members.length === 0 && schema.additionalProperties !== false) {
      const values = this.#value(isRecord(schema.additionalProperties) ? schema.additionalProperties : true);
      const quote = this.#syntax.notation === "python" ? '"' : "";
      const member = sequence([quote, anyKey, quote, colon, values]);
      return sequence(["{", choice([empty, sequence([member, repeat(sequence([next, member]), 0, Infinity)])]), "}"]);
    }
    const prefix = `member${Object.keys(this.#rules).length}-`;
    return sequence(["{", memberList(members, { first: empty, next, prefix, rules: this.#rules }), "}"]);
  }
}

const anySchema: ObjectSchema = {};
const anyKey = repeat(
  bytes([
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ]),
  1,
  64,
);
