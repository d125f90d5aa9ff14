import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile, fromJsonSchema, type Grammar, GrammarError, type JsonSchema, type JsonSchemaOptions, vocabulary } from "../src/index.ts";
import { isWholeGrid } from "./grid.ts";
import { acceptorOf } from "./jsonText.ts";

/** Share of the random cases that run. */
const share = isWholeGrid ? 1 : 0.3;

// Without a precision, Ajv takes numbers from 1e21 on for no multiples of anything.
const ajv = new Ajv2020({ strict: false, validateFormats: false, multipleOfPrecision: 9 });
const names = fc.constantFrom("a", "b", "c", "ab", "z");
const scalars = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, 2, 3, 6, -1, 10, 1.5, 0.5, 2.25, 123456789012345, 1e-7, -12.5),
  fc.constantFrom("", "a", "b", "ab", "abc", "é", "😀", "\n", '"\\', "aaaa"),
);

const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small", withCrossShrink: true },
    scalars,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const types = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object");
const count = fc.nat(3);
const number = fc.constantFrom(0, 1, 2, 3, -1, 1.5, 10, 0.5);
const pattern = fc.constantFrom("^a", "b", "^[a-c]*$", "^.?$", "a$|^b", "^\\S+$");

/** Schemas whose keywords often meet in one value. */
const schemas = fc.letrec<{ schema: JsonSchema; list: JsonSchema[] }>((tie) => {
  const schema = tie("schema");
  const list = fc.array(schema, { minLength: 1, maxLength: 3 });
  const keywords = {
    type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    enum: fc.array(fc.oneof(scalars, values), { minLength: 1, maxLength: 4 }),
    const: fc.oneof(scalars, values),
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: fc.constantFrom(1, 2, 3, 0.5, 0.25),
    minLength: count,
    maxLength: count,
    pattern,
    properties: fc.dictionary(names, schema, { maxKeys: 3, noNullPrototype: true }),
    required: fc.uniqueArray(names, { maxLength: 2 }),
    additionalProperties: schema,
    patternProperties: fc.dictionary(pattern, schema, { maxKeys: 2, noNullPrototype: true }),
    propertyNames: fc.record({ pattern, maxLength: count }, { requiredKeys: [] }),
    minProperties: count,
    maxProperties: count,
    dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 2 }), { maxKeys: 2, noNullPrototype: true }),
    dependentSchemas: fc.dictionary(names, schema, { maxKeys: 1, noNullPrototype: true }),
    items: schema,
    prefixItems: list,
    contains: schema,
    minContains: count,
    maxContains: count,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: schema,
    if: schema,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: schema,
    else: schema,
    $ref: fc.constantFrom("#/$defs/x", "#/$defs/y"),
  };
  const some = fc
    .uniqueArray(fc.constantFrom(...(Object.keys(keywords) as (keyof typeof keywords)[])), { minLength: 1, maxLength: 4 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((keyword) => [keyword, keywords[keyword] as fc.Arbitrary<unknown>]))));
  return {
    list,
    schema: fc.oneof({ maxDepth: 3, depthSize: "small", withCrossShrink: true }, fc.boolean(), some as fc.Arbitrary<JsonSchema>),
  };
}).schema;

const documents = fc.record({ schema: schemas, x: schemas, y: schemas }).map(({ schema, x, y }) => {
  const root = typeof schema === "boolean" ? { allOf: [schema] } : schema;
  return { ...root, $defs: { x, y } } as Record<string, unknown>;
});

/**
 * Ajv's verdict, or undefined where it cannot compile the schema. Ajv lets empty arrays pass `contains` beside `prefixItems`, and it misses
 * much of what is evaluated, so that unevaluated properties and items are not compared.
 */
function validator(schema: JsonSchema): ((value: unknown) => boolean | undefined) | undefined {
  const source = JSON.stringify(schema);
  if (source.includes('"contains":') && source.includes('"prefixItems":')) return undefined;
  try {
    const validate = ajv.compile(schema as object);
    return (value) => {
      try {
        return validate(value);
      } catch {
        // Ajv's own code uses variables that it does not define.
        return undefined;
      }
    };
  } catch {
    return undefined;
  } finally {
    ajv.removeSchema();
  }
}

describe("random schemas", () => {
  test("accept what Ajv accepts, or are refused", () => {
    let refused = 0;
    let compiled = 0;
    let valid = 0;
    let invalid = 0;
    const property = fc.property(documents, fc.array(values, { minLength: 12, maxLength: 12 }), (schema, instances) => {
      const accepts = acceptorOf(schema, { order: "any" });
      if (accepts === undefined) {
        refused++;
        return;
      }
      const validate = validator(schema);
      if (validate === undefined) return;
      compiled++;
      for (const instance of [...instances, ...(Array.isArray(schema.enum) ? schema.enum : [])]) {
        const expected = validate(instance);
        if (expected === undefined) continue;
        if (expected) valid++;
        else invalid++;
        expect({ instance, isAccepted: accepts(JSON.stringify(instance)) }).toEqual({ instance, isAccepted: expected });
      }
    });
    fc.assert(property, { numRuns: 600 * share, seed: 20 });
    expect(refused / (refused + compiled)).toBeLessThan(0.25);
    expect(Math.min(valid, invalid)).toBeGreaterThan(500 * share);
  });

  test("generate texts that parse and that Ajv accepts", () => {
    let generated = 0;
    const options = fc.record<JsonSchemaOptions>({
      order: fc.constantFrom("schema", "any"),
      whitespace: fc.constantFrom("compact", "pretty", "any"),
      maxWhitespace: fc.nat(2),
    });
    const property = fc.property(documents, options, fc.infiniteStream(fc.nat(1000)), (schema, choices, stream) => {
      const grammar = compiledGrammar(schema, choices);
      const validate = grammar === undefined ? undefined : validator(schema);
      if (grammar === undefined || validate === undefined) return;
      for (let i = 0; i < 5; i++) {
        const text = randomText(grammar, stream);
        if (text === undefined) continue;
        generated++;
        const value = JSON.parse(text);
        expect({ text, isValid: validate(value) ?? true }).toEqual({ text, isValid: true });
      }
    });
    fc.assert(property, { numRuns: 250 * share, seed: 21 });
    expect(generated).toBeGreaterThan(500 * share);
  });
});

describe("formats", () => {
  const withFormats = new Ajv2020();
  formats.default(withFormats);
  const names = ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer"];
  const others = ["relative-json-pointer", "time", "uri", "uri-reference", "uuid"];

  test.each([...names, ...others])("texts of %s are those of ajv-formats", (format) => {
    const schema = { type: "string", format };
    const grammar = fromJsonSchema(schema);
    const validate = withFormats.compile(schema);
    let generated = 0;
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1000)), (stream) => {
        const text = randomText(grammar, stream);
        if (text === undefined) return;
        generated++;
        expect({ text, isValid: validate(JSON.parse(text)) }).toEqual({ text, isValid: true });
      }),
      { numRuns: 60, seed: 22 },
    );
    expect(generated).toBeGreaterThan(40);
  });
});

function compiledGrammar(schema: JsonSchema, options: JsonSchemaOptions): Grammar | undefined {
  try {
    return fromJsonSchema(schema, options);
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    return undefined;
  }
}

const printable = Array.from({ length: 95 }, (_, i) => Uint8Array.of(0x20 + i));
const characters = [...printable, ...["\n", "é", "😀"].map((text) => new TextEncoder().encode(text))];
const end = characters.length;
const tokens = vocabulary([...characters, new Uint8Array()], { endIds: [end] });
const maximumSteps = 300;
const closers = [end, ...['"', "@", "}", "]", ":", ".", "1", "0", "5"].map((text) => text.charCodeAt(0) - 0x20)];

/** Follows random tokens to the end of a text; after a while only those that close it. Gives undefined for a text that is too long. */
function randomText(grammar: Grammar, choices: Iterator<number>): string | undefined {
  const matcher = compile(grammar, tokens, { budget: { steps: 1e9 } }).matcher();
  const mask = new Uint32Array(tokens.maskWords);
  const bytes: number[] = [];
  for (let steps = 0; steps < maximumSteps; steps++) {
    matcher.mask(mask);
    const allowed = [...characters.keys(), end].filter((id) => ((mask[id >> 5]! >>> (id & 31)) & 1) === 1);
    const closing = steps > 20 ? closers.find((id) => allowed.includes(id)) : undefined;
    const id = closing ?? allowed[choices.next().value % allowed.length];
    if (id === undefined) throw new Error(`dead end after ${new TextDecoder().decode(Uint8Array.from(bytes))}`);
    expect(matcher.accept(id)).toBe(true);
    if (id === end) return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
    bytes.push(...characters[id]!);
  }
  return undefined;
}
