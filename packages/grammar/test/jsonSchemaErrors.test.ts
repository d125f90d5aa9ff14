import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromJsonSchema, type GrammarErrorCode, type JsonSchema } from "../src/index.ts";
import { refusal } from "./jsonText.ts";

const items = (schema: unknown) => ({ type: "object", properties: { "a/b": { type: "array", items: schema } } }) as JsonSchema;
const at = "/properties/a~1b/items";

const rows: readonly (readonly [name: string, schema: unknown, code: GrammarErrorCode, pointer: string, keyword: string])[] = [
  ["a schema that is no object", 3, "GRAMMAR_SYNTAX", "", "schema"],
  ["a property that is no schema", items(1), "GRAMMAR_SYNTAX", "/properties/a~1b", "items"],
  ["an unknown type", items({ type: "text" }), "GRAMMAR_SYNTAX", at, "type"],
  ["a bound that is no number", items({ minimum: "1" }), "GRAMMAR_SYNTAX", at, "minimum"],
  ["the flags of draft 4 in later drafts", items({ exclusiveMinimum: true }), "GRAMMAR_SYNTAX", at, "exclusiveMinimum"],
  ["a negative length", items({ maxLength: -1 }), "GRAMMAR_SYNTAX", at, "maxLength"],
  ["multiples of zero", items({ multipleOf: 0 }), "GRAMMAR_SYNTAX", at, "multipleOf"],
  ["required that is no list", items({ required: "a" }), "GRAMMAR_SYNTAX", at, "required"],
  ["a constant that JSON has no text for", items({ const: Number.parseFloat("1e400") }), "GRAMMAR_SYNTAX", at, "const"],
  ["an enum with a value that JSON does not have", items({ enum: [1, 2n] }), "GRAMMAR_SYNTAX", at, "enum"],
  ["an escape that hides a quantifier", items({ type: "string", pattern: "^a{1\\,2}$" }), "GRAMMAR_SYNTAX", at, "pattern"],
  [
    "a recursive reference whose target depends on the path",
    {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      $id: "https://example.org/strict",
      $recursiveAnchor: true,
      $ref: "tree",
      unevaluatedProperties: false,
      $defs: { tree: { $id: "tree", $recursiveAnchor: true, properties: { child: { $recursiveRef: "#" } } } },
    },
    "GRAMMAR_UNSUPPORTED",
    "/$defs/tree/properties/child",
    "$recursiveRef",
  ],
  ["enum that is no list", items({ enum: {} }), "GRAMMAR_SYNTAX", at, "enum"],
  ["a bad regular expression", items({ type: "string", pattern: "(" }), "GRAMMAR_SYNTAX", at, "pattern"],
  ["lookahead", items({ type: "string", pattern: "(?=a)" }), "GRAMMAR_UNSUPPORTED", at, "pattern"],
  ["a backreference in a property name", items({ patternProperties: { "(a)\\1": {} } }), "GRAMMAR_UNSUPPORTED", at, "patternProperties"],
  ["a format that is not enforced", items({ type: "string", format: "iri" }), "GRAMMAR_UNSUPPORTED", at, "format"],
  ["unique items of any kind", items({ type: "array", uniqueItems: true }), "GRAMMAR_UNSUPPORTED", at, "uniqueItems"],
  ["properties that only their number requires", items({ type: "object", minProperties: 2 }), "GRAMMAR_UNSUPPORTED", at, "minProperties"],
  ["multiples with many digits", items({ type: "number", multipleOf: 0.123456789 }), "GRAMMAR_UNSUPPORTED", at, "multipleOf"],
  [
    "some property of a kind that no schema names",
    items({ type: "object", not: { additionalProperties: { type: "string" } } }),
    "GRAMMAR_UNSUPPORTED",
    `${at}/not`,
    "additionalProperties",
  ],
  ["a remote reference", items({ $ref: "https://example.org/schema" }), "GRAMMAR_REFERENCE", at, "$ref"],
  ["a reference to nothing", items({ $ref: "#/$defs/x" }), "GRAMMAR_REFERENCE", at, "$ref"],
  ["a reference to an unknown anchor", items({ $ref: "#x" }), "GRAMMAR_REFERENCE", at, "$ref"],
  ["a reference to itself", { $ref: "#" }, "GRAMMAR_REFERENCE", "", "$ref"],
  [
    "references in a circle without a value",
    { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { allOf: [{ $ref: "#/$defs/a" }] } } },
    "GRAMMAR_REFERENCE",
    "/$defs/a",
    "$ref",
  ],
  ["a value that contains itself", { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }, "GRAMMAR_EMPTY", "", "schema"],
  ["false", false, "GRAMMAR_EMPTY", "", "schema"],
  ["types that exclude each other", { type: "string", allOf: [{ type: "number" }] }, "GRAMMAR_EMPTY", "", "schema"],
  ["bounds that exclude each other", { type: "number", minimum: 3, maximum: 2 }, "GRAMMAR_EMPTY", "", "schema"],
  ["integers between two integers", { type: "integer", exclusiveMinimum: 3, exclusiveMaximum: 4 }, "GRAMMAR_EMPTY", "", "schema"],
  ["a pattern that the length excludes", { type: "string", pattern: "^abc$", maxLength: 2 }, "GRAMMAR_EMPTY", "", "schema"],
  ["a format that the pattern excludes", { type: "string", format: "uuid", pattern: "x" }, "GRAMMAR_EMPTY", "", "schema"],
  ["enum without values", { enum: [] }, "GRAMMAR_EMPTY", "", "schema"],
  [
    "a required property that is impossible",
    { type: "object", properties: { a: { enum: [1, 2], minimum: 3 } }, required: ["a"] },
    "GRAMMAR_EMPTY",
    "",
    "schema",
  ],
  ["more items than there are", { type: "array", items: false, minItems: 1 }, "GRAMMAR_EMPTY", "", "schema"],
  [
    "more unique items than values",
    { type: "array", items: { enum: [1, 2] }, uniqueItems: true, minItems: 3 },
    "GRAMMAR_EMPTY",
    "",
    "schema",
  ],
];

describe("a schema is refused before anything is generated", () => {
  test.each(rows)("%s", (_, schema, code, pointer, keyword) => {
    const error = refusal(() => fromJsonSchema(schema as JsonSchema));
    expect({ code: error.code, pointer: error.pointer, keyword: error.keyword }).toEqual({ code, pointer, keyword });
    expect(error.reason).toBeTypeOf("string");
    expect(error.message).toMatch(/^fromJsonSchema: /);
  });

  test("but not for what can never apply", () => {
    const unreachable = { type: "integer", uniqueItems: true, format: "iri", $defs: { x: { uniqueItems: true, $ref: "https://x.org" } } };
    expect(() => fromJsonSchema(unreachable)).not.toThrow();
  });

  test("wrong options are named", () => {
    expect(refusal(() => fromJsonSchema({}, { whitespace: "none" as "any" }))).toMatchObject({ code: "GRAMMAR_ARGUMENT" });
    expect(refusal(() => fromJsonSchema({}, { maxWhitespace: -1 }))).toMatchObject({ code: "GRAMMAR_ARGUMENT" });
    expect(refusal(() => fromJsonSchema({}, { order: "none" as "any" }))).toMatchObject({ code: "GRAMMAR_ARGUMENT" });
  });
});

/** Puts a schema inside itself `depth` times. */
function nested(depth: number, outside: (schema: JsonSchema) => JsonSchema): JsonSchema {
  let schema: JsonSchema = { type: "null" };
  for (let i = 0; i < depth; i++) schema = outside(schema);
  return schema;
}

const chain = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]));
const branches = Array.from({ length: 40 }, (_, i) => ({ anyOf: [{ required: [`a${i}`] }, { properties: { [`b${i}`]: { const: i } } }] }));
const large = Object.fromEntries(
  Array.from({ length: 100_000 }, (_, i) => [`property${i}`, { type: "string", description: "x".repeat(50), pattern: `^${i}$` }]),
);
let manyLevels: unknown = 1;
for (let i = 0; i < 1_000_000; i++) manyLevels = [manyLevels];

/** Schemas that are deeper or larger than any real one. */
const extremes: Readonly<Record<string, JsonSchema>> = {
  "a million schemas of items": nested(1_000_000, (schema) => ({ items: schema })),
  "a million schemas of allOf": nested(1_000_000, (schema) => ({ allOf: [schema] })),
  "a million schemas of not": nested(1_000_000, (schema) => ({ not: schema })),
  "900 schemas of allOf": nested(900, (schema) => ({ allOf: [schema] })),
  "900 schemas of properties": nested(900, (schema) => ({ properties: { a: schema }, required: ["a"] })),
  "900 complements of items": nested(900, (schema) => ({ type: "array", not: { items: schema } })),
  "a constant of a million levels": { const: manyLevels },
  "a chain of 10,000 references": { $ref: "#/$defs/d0", $defs: { ...chain, d10000: { type: "null" } } },
  "2^40 combinations of alternatives": { allOf: branches },
  "10 MB": { type: "object", properties: large },
  "strings of up to 10^9 characters": { type: "string", minLength: 10, maxLength: 1e9 },
  "strings of at least 10^9 characters": { type: "string", minLength: 1e9, pattern: "^(a|b)*$" },
  "arrays of 10^9 items": { type: "array", minItems: 1e9 },
  "a pattern with many ways to match": { type: "string", pattern: "^(a?){1000}a{1000}$" },
  "all orders of 40 values": { type: "array", items: { enum: Array.from({ length: 40 }, (_, i) => i) }, uniqueItems: true },
  "oneOf with 500 branches": { oneOf: Array.from({ length: 500 }, (_, i) => ({ type: "object", required: [`a${i}`] })) },
};

test("many values, ranges and names take time in proportion, or are refused", () => {
  const list = <T>(count: number, item: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => item(i));
  const code = (schema: JsonSchema) => refusal(() => fromJsonSchema(schema)).code;
  // This takes longer than a test may, if each value is compared with those before it.
  expect(() => fromJsonSchema({ enum: list(50_000, (i) => `value ${i}`) })).not.toThrow();
  expect(code({ enum: list(1_000_000, (i) => `value ${i}`) })).toBe("GRAMMAR_BUDGET");
  expect(code({ allOf: list(20_000, (minimum) => ({ minimum })) })).toBe("GRAMMAR_BUDGET");
  // Expressions that are nested as deeply.
  expect(() => fromJsonSchema({ type: "object", required: list(8000, (i) => `name ${i}`) })).not.toThrow();
  expect(code({ type: "object", required: list(100_000, (i) => `name ${i}`) })).toBe("GRAMMAR_BUDGET");
});

test("patterns count into the steps of their schema", () => {
  const patterns = (count: number): JsonSchema => ({
    type: "object",
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { type: "string", pattern: `^[a-z]{${i}}$` }])),
  });
  const budget = { steps: 20_000 };
  expect(() => fromJsonSchema(patterns(5), { budget })).not.toThrow();
  expect(refusal(() => fromJsonSchema(patterns(100), { budget })).code).toBe("GRAMMAR_BUDGET");
});

describe("a schema stays within the budget, or the error says so", () => {
  test.each(Object.entries(extremes))("%s", (_, schema) => {
    try {
      fromJsonSchema(schema);
    } catch (error) {
      expect(error).toMatchObject({ name: "GrammarError" });
      expect(["GRAMMAR_BUDGET", "GRAMMAR_UNSUPPORTED"]).toContain((error as { code: string }).code);
    }
  });

  test("a smaller budget is respected", () => {
    expect(refusal(() => fromJsonSchema({ type: "object", properties: large }, { budget: { bytes: 100_000 } })).code).toBe(
      "GRAMMAR_BUDGET",
    );
  });

  test("a signal stops the work", () => {
    const signal = AbortSignal.abort(new Error("enough"));
    expect(() => fromJsonSchema({ type: "object", properties: large }, { signal })).toThrow("enough");
  });

  test("a schema that is a cycle of objects is read once", () => {
    const schema: Record<string, unknown> = { type: ["object", "null"], additionalProperties: false };
    schema.properties = { next: schema };
    expect(() => fromJsonSchema(schema)).not.toThrow();
  });
});

describe("malformed schemas", () => {
  const keywords = [
    ...[
      "$ref",
      "$dynamicRef",
      "$id",
      "$schema",
      "$anchor",
      "$defs",
      "type",
      "enum",
      "const",
      "properties",
      "required",
      "additionalProperties",
    ],
    ...["patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies"],
    ...["items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"],
    ...["minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems", "__proto__", "constructor"],
  ];
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        "#",
        "#/",
        "#/$defs/a",
        "object",
        "string",
        "array",
        "http://json-schema.org/draft-04/schema#",
        "^a",
        "date",
        0,
        1,
        -1,
      ),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keywords), tie("value"), { maxKeys: 4 }),
    ),
  })).value;

  test("are compiled or end in a GrammarError that names the place", () => {
    let refused = 0;
    const property = fc.property(fc.dictionary(fc.constantFrom(...keywords), anything, { minKeys: 1, maxKeys: 4 }), (schema) => {
      try {
        fromJsonSchema(schema);
      } catch (error) {
        refused++;
        expect(error).toMatchObject({ name: "GrammarError" });
        const { code, pointer } = error as { code: string; pointer?: string };
        if (code !== "GRAMMAR_BUDGET") expect(pointer).toBeTypeOf("string");
      }
    });
    fc.assert(property, { numRuns: 3000, seed: 23 });
    expect(refused).toBeGreaterThan(500);
  });
});
