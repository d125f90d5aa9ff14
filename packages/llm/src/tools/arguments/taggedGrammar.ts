import {
  and,
  anyText,
  bytes,
  choice,
  combine,
  type Expression,
  type Grammar,
  not,
  type Regular,
  repeat,
  sequence,
  text,
} from "@centella/grammar";
import { named } from "@centella/quant/checks";
import { anySpace, type Markup, textWithout } from "../../format/markup.ts";
import { schemaGrammar } from "../../format/schemaGrammar.ts";
import type { TaggedSyntax, ValueType } from "../formats/toolFormat.ts";
import type { ArgumentContext } from "./argumentFamily.ts";
import { alternativesOf, memberList, type ObjectSchema, propertiesOf, resolved, type SchemaContext, stringsOf } from "./schemaParts.ts";
import { typesOfSchema } from "./valueTypes.ts";

/**
 * The grammar of arguments between markup: strings without quotation marks, other values as JSON.
 * @throws {UnsupportedError} for a schema that cannot be enforced like this; {GrammarError}; the signal's reason
 */
export function taggedGrammar(tool: string, root: ObjectSchema, { markup, signal }: ArgumentContext, syntax: TaggedSyntax): Grammar {
  const context: SchemaContext = { tool, root };
  const rules: Record<string, Expression> = {};
  const values: Record<string, Grammar> = {};
  const properties = propertiesOf(resolved(root, context));
  // Without named properties, the arguments are any.
  const isOpen = properties.length === 0 && root.additionalProperties !== false;
  if (isOpen) values.any = { start: anyArguments(markup, syntax), rules: {} };
  for (const [i, [name, schema]] of properties.entries())
    values[`value${i}`] = valueGrammar(name, alternativesOf(schema, context), { context, markup, signal, syntax });
  const { first, next } = syntax;
  const combined = combine(values, (parts) => {
    const members = properties.map(([name, , isRequired], i) => ({
      isRequired,
      item: sequence([text(name), named(parts, `value${i}`)]),
    }));
    return parts.any ?? memberList(members, { first: markup.item(first), next: markup.item(next), prefix: "argument", rules });
  });
  return { start: combined.start, rules: { ...combined.rules, ...rules } };
}

interface ValueContext extends ArgumentContext {
  readonly context: SchemaContext;
  readonly syntax: TaggedSyntax;
}

/** What follows the name of an argument, whose value matches one of the schemas. */
function valueGrammar(name: string, schemas: readonly ObjectSchema[], valueContext: ValueContext): Grammar {
  const { context, markup, syntax } = valueContext;
  const close = closeOf(syntax, name);
  const typed = schemas.map((schema) => ({ schema, types: [...typesOfSchema(schema)] }));
  const others = new Set(typed.flatMap(({ types }) => types.filter((type) => type !== "string")));
  // Types that share their markup share their values as well.
  const values = typed.flatMap(({ schema, types }) =>
    [...new Set(types.map((type) => syntax.open[type]))].flatMap((open) => {
      const own = types.filter((type) => type !== "string" && syntax.open[type] === open);
      return own.length === 0 ? [] : [{ open, grammar: otherValues(schema, own, valueContext) }];
    }),
  );
  return combine<string>(Object.fromEntries(values.map(({ grammar }, i) => [`${i}`, grammar])), (parts) => {
    const alternatives = values.map(({ open }, i) => sequence([markup.item(open), named(parts, `${i}`), markup.item(close)]));
    const strings = typed.filter(({ types }) => types.includes("string")).map(({ schema }) => stringsOf(schema, context));
    if (strings.length > 0) {
      const same = [...others].filter((type) => syntax.open[type] === syntax.open.string);
      const texts = and([choice(strings), textWithout(close), ...same.map(notLike)]);
      alternatives.push(sequence([markup.item(syntax.open.string), texts, markup.item(close)]));
    }
    return choice(alternatives);
  });
}

function closeOf({ closeBefore, close }: TaggedSyntax, name: string): string {
  return closeBefore === undefined ? close : closeBefore + name + close;
}

/** Values that are no strings. */
function otherValues(schema: ObjectSchema, types: readonly ValueType[], { context, syntax, signal }: ValueContext): Grammar {
  const { $defs, definitions } = context.root;
  const narrowed = {
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
    ...schema,
    type: numbersOf(schema, types),
  };
  const values = schemaGrammar(narrowed, { whitespace: "any", maxWhitespace: 1, signal });
  // Templates that write these words as Python does also show them to the model like that.
  const words =
    syntax.isPython && schema.enum === undefined && schema.const === undefined ? types.flatMap((type) => pythonWords[type] ?? []) : [];
  return words.length === 0 ? values : combine({ values }, (parts) => choice([parts.values, ...words]));
}

const pythonWords: Readonly<Partial<Record<ValueType, readonly string[]>>> = { boolean: ["True", "False"], null: ["None"] };

function numbersOf({ type }: ObjectSchema, types: readonly ValueType[]): readonly string[] {
  const named = Array.isArray(type) ? type : [type];
  const isInteger = named.includes("integer") && !named.includes("number");
  return types.map((each) => (each === "number" && isInteger ? "integer" : each));
}

/** Texts that are not read as a value of this type. */
function notLike(type: ValueType): Regular {
  const digit = bytes([[0x30, 0x39]]);
  const begins: Readonly<Record<ValueType, readonly Regular[]>> = {
    string: [],
    number: [digit, text("-")],
    boolean: [text("t"), text("f"), text("T"), text("F")],
    null: [text("n"), text("N")],
    array: [text("[")],
    object: [text("{")],
  };
  const words: Readonly<Partial<Record<ValueType, readonly string[]>>> = {
    boolean: ["true", "false", "True", "False"],
    null: ["null", "None"],
  };
  const like = words[type];
  if (like !== undefined) return not(sequence([anySpace, choice(like.map((word) => text(word))), anySpace]));
  return not(sequence([anySpace, choice(begins[type]), anyText]));
}

/** Arguments of any names and values. */
function anyArguments(markup: Markup, syntax: TaggedSyntax): Expression {
  const name = repeat(
    bytes([
      [0x30, 0x39],
      [0x41, 0x5a],
      [0x5f, 0x5f],
      [0x61, 0x7a],
    ]),
    1,
    64,
  );
  const { closeBefore, open, close } = syntax;
  if (closeBefore !== undefined) return sequence([]);
  const value = choice([...new Set(Object.values(open))].map((each) => markup.item(each)));
  const argument = sequence([name, value, textWithout(close), markup.item(close)]);
  const more = repeat(sequence([markup.item(syntax.next), argument]), 0, Infinity);
  return choice([sequence([]), sequence([markup.item(syntax.first), argument, more])]);
}
