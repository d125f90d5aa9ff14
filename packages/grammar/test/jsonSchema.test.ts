import { describe, expect, test } from "vitest";
import { fromJsonSchema, type JsonSchema } from "../src/index.ts";
import { acceptor } from "./jsonText.ts";

interface Row {
  readonly schema: JsonSchema;
  readonly valid: readonly unknown[];
  readonly invalid: readonly unknown[];
}

const draft7 = { $schema: "http://json-schema.org/draft-07/schema#" };

/** Each keyword with values that it allows and that it forbids. */
const keywords: Readonly<Record<string, readonly Row[]>> = {
  type: [
    { schema: { type: "integer" }, valid: [0, -12, 1e21, 123456789], invalid: [1.5, "1", true, 1e-7] },
    { schema: { type: ["string", "null"] }, valid: ["", null], invalid: [1, {}, false] },
    { schema: { type: "number" }, valid: [0, 1.5, -1e-300, 1.7976931348623157e308, 5e-324], invalid: ["0", null] },
    { schema: { type: ["integer", "number"] }, valid: [1, 1.5], invalid: [""] },
  ],
  enum: [
    {
      schema: { enum: ["a", 1, null, true, { x: [1] }, []] },
      valid: ["a", 1, null, true, { x: [1] }, []],
      invalid: ["b", 2, { x: [2] }, [1]],
    },
    { schema: { enum: ["line\nbreak", '"', "é😀"], maxLength: 3 }, valid: ['"', "é😀"], invalid: ["line\nbreak", "é"] },
  ],
  const: [
    {
      schema: { const: { a: [1, { b: null }] } },
      valid: [{ a: [1, { b: null }] }],
      invalid: [{ a: [1] }, {}, { a: [1, { b: null }], c: 1 }],
    },
    { schema: { const: 0.1 }, valid: [0.1], invalid: [0.11, 0] },
  ],
  properties: [
    { schema: { properties: { a: { type: "integer" } } }, valid: [{}, { a: 1 }, { a: 1, z: 2 }, 3, []], invalid: [{ a: "x" }] },
    { schema: { properties: { 'q"\\\n': { const: 1 } } }, valid: [{ 'q"\\\n': 1 }], invalid: [{ 'q"\\\n': 2 }] },
  ],
  required: [
    {
      schema: { type: "object", required: ["a", "b"] },
      valid: [
        { a: 1, b: 2 },
        { a: 1, b: 2, c: 3 },
      ],
      invalid: [{}, { a: 1 }, { b: 1 }],
    },
  ],
  additionalProperties: [
    { schema: { type: "object", properties: { a: true }, additionalProperties: false }, valid: [{}, { a: 1 }], invalid: [{ b: 1 }] },
    { schema: { type: "object", additionalProperties: { type: "null" } }, valid: [{}, { x: null, y: null }], invalid: [{ x: 1 }] },
  ],
  patternProperties: [
    {
      schema: { type: "object", patternProperties: { "^a": { type: "integer" }, z$: { minimum: 5 } }, additionalProperties: false },
      valid: [{}, { a: 1 }, { z: "s" }, { az: 5 }],
      invalid: [{ a: "s" }, { az: 4 }, { b: 1 }],
    },
  ],
  propertyNames: [
    {
      schema: { type: "object", propertyNames: { pattern: "^[a-c]+$", maxLength: 2 } },
      valid: [{}, { ab: 1 }],
      invalid: [{ d: 1 }, { abc: 1 }],
    },
    { schema: { type: "object", propertyNames: { enum: ["x"] }, properties: { y: {} } }, valid: [{ x: 1 }], invalid: [{ y: 1 }] },
  ],
  minProperties: [
    { schema: { type: "object", minProperties: 1 }, valid: [{ a: 1 }, { a: 1, b: 2 }], invalid: [{}] },
    {
      schema: { type: "object", properties: { a: {}, b: {}, c: {} }, additionalProperties: false, minProperties: 2 },
      valid: [
        { a: 1, b: 1 },
        { b: 1, c: 1 },
        { a: 1, b: 1, c: 1 },
      ],
      invalid: [{}, { b: 1 }],
    },
  ],
  maxProperties: [
    { schema: { type: "object", maxProperties: 1 }, valid: [{}, { a: 1 }], invalid: [{ a: 1, b: 2 }] },
    {
      schema: { type: "object", properties: { a: {}, b: {} }, required: ["b"], maxProperties: 2 },
      valid: [{ b: 1 }, { a: 1, b: 1 }, { b: 1, z: 1 }],
      invalid: [{ a: 1, b: 1, z: 1 }, { a: 1 }],
    },
  ],
  dependentRequired: [
    {
      schema: { type: "object", properties: { a: {}, b: {} }, dependentRequired: { a: ["b"] } },
      valid: [{}, { b: 1 }, { a: 1, b: 1 }],
      invalid: [{ a: 1 }],
    },
  ],
  dependentSchemas: [
    {
      schema: { type: "object", dependentSchemas: { a: { properties: { b: { type: "null" } } } } },
      valid: [{}, { b: 1 }, { a: 1 }, { a: 1, b: null }],
      invalid: [{ a: 1, b: 1 }],
    },
  ],
  dependencies: [
    {
      schema: { ...draft7, dependencies: { a: ["b"], c: { required: ["d"] } } },
      valid: [{}, { a: 1, b: 1 }, { c: 1, d: 1 }],
      invalid: [{ a: 1 }, { c: 1 }],
    },
  ],
  items: [
    { schema: { items: { type: "integer" } }, valid: [[], [1, 2], "x"], invalid: [["a"], [1, "a"]] },
    {
      schema: { ...draft7, items: [{ type: "integer" }, true], additionalItems: false },
      valid: [[], [1], [1, "x"]],
      invalid: [["a"], [1, 2, 3]],
    },
  ],
  prefixItems: [
    {
      schema: { prefixItems: [{ type: "integer" }], items: { type: "null" } },
      valid: [[], [1], [1, null, null]],
      invalid: [["a"], [1, 1]],
    },
  ],
  contains: [
    { schema: { type: "array", contains: { const: 1 } }, valid: [[1], [0, 1], [1, "x"]], invalid: [[], [0]] },
    { schema: { type: "array", contains: { const: 1 }, minContains: 2, maxContains: 2 }, valid: [[1, 0, 1]], invalid: [[1], [1, 1, 1]] },
    { schema: { type: "array", contains: { const: 1 }, minContains: 0 }, valid: [[], [0]], invalid: [{}] },
  ],
  minItems: [
    {
      schema: { type: "array", minItems: 2 },
      valid: [
        [1, 2],
        [1, 2, 3],
      ],
      invalid: [[], [1]],
    },
  ],
  maxItems: [
    { schema: { type: "array", maxItems: 2 }, valid: [[], [1, 2]], invalid: [[1, 2, 3]] },
    { schema: { type: "array", prefixItems: [{}, {}, {}], minItems: 1, maxItems: 2 }, valid: [[1], [1, 2]], invalid: [[], [1, 2, 3]] },
  ],
  uniqueItems: [
    {
      schema: { type: "array", items: { enum: ["a", "b", 1] }, uniqueItems: true },
      valid: [[], ["a", 1, "b"]],
      invalid: [
        ["a", "a"],
        [1, "b", 1],
      ],
    },
    { schema: { type: "array", maxItems: 1, uniqueItems: true }, valid: [[], ["x"]], invalid: [["x", "y"]] },
  ],
  minLength: [{ schema: { type: "string", minLength: 2 }, valid: ["ab", "😀😀", "\n\n"], invalid: ["", "a", "😀"] }],
  maxLength: [{ schema: { type: "string", maxLength: 2 }, valid: ["", "ab", "😀😀", "\u0000\\"], invalid: ["abc"] }],
  pattern: [
    { schema: { type: "string", pattern: "b+" }, valid: ["b", "abbc"], invalid: ["", "ac"] },
    { schema: { type: "string", pattern: '^[\\w"\\\\]$' }, valid: ["a", '"', "\\"], invalid: ["", "ab", "é"] },
    { schema: { type: "string", pattern: "^https\\:\\/\\/x\\-y$" }, valid: ["https://x-y"], invalid: ["https://xy"] },
    { schema: { type: "string", pattern: "^a\\,[\\,\\-z]$" }, valid: ["a,,", "a,-", "a,z"], invalid: ["a", "a\\,,", "a,y"] },
  ],
  format: [
    {
      schema: { type: "string", format: "date" },
      valid: ["2024-02-29", "1999-12-31"],
      invalid: ["2023-02-29", "1900-02-29", "2024-13-01", "24-01-01"],
    },
    { schema: { type: "string", format: "time" }, valid: ["12:34:56Z", "23:59:59.123+05:30"], invalid: ["24:00:00Z", "12:34:56"] },
    { schema: { type: "string", format: "date-time" }, valid: ["2024-02-29T00:00:00Z"], invalid: ["2024-02-30T00:00:00Z", "2024-02-29"] },
    { schema: { type: "string", format: "duration" }, valid: ["P1D", "PT1H30M", "P2W"], invalid: ["P", "PT", "P1S"] },
    { schema: { type: "string", format: "email" }, valid: ["a.b+c@x-y.org"], invalid: ["a", "@b", "a@", "a..b@c"] },
    { schema: { type: "string", format: "hostname" }, valid: ["a", "a-b.c9"], invalid: ["-a", "a_b", "a..b", "a".repeat(64)] },
    { schema: { type: "string", format: "ipv4" }, valid: ["0.0.0.0", "255.1.20.3"], invalid: ["256.0.0.0", "1.2.3", "01.2.3.4"] },
    {
      schema: { type: "string", format: "ipv6" },
      valid: ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"],
      invalid: ["1:2:3", ":::", "1::2::3", "12345::"],
    },
    {
      schema: { type: "string", format: "uuid" },
      valid: ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"],
      invalid: ["2eb8aa08-aa98-11ea-b4aa-73b441d1638"],
    },
    {
      schema: { type: "string", format: "uri" },
      valid: ["http://x.y/z?a=b#c", "urn:a:b", "http://[::1]/"],
      invalid: ["//x", "x", "http://a b"],
    },
    { schema: { type: "string", not: { format: "ipv4" } }, valid: ["x"], invalid: ["1.2.3.4"] },
  ],
  minimum: [
    { schema: { type: "number", minimum: -1.5 }, valid: [-1.5, -1, 0, 1e300, -1e-9], invalid: [-1.6, -1e9] },
    { schema: { type: "integer", minimum: 100 }, valid: [100, 101, 999, 1000, 1e21], invalid: [99, 0, -100] },
  ],
  maximum: [
    { schema: { type: "number", maximum: 0.25 }, valid: [0.25, 0.2, 0, -7, 1e-9], invalid: [0.26, 1, 1e21] },
    { schema: { type: "integer", minimum: 17, maximum: 2023 }, valid: [17, 20, 99, 100, 2000, 2023], invalid: [16, 2024, 3000, 170000] },
  ],
  exclusiveMinimum: [
    { schema: { type: "number", exclusiveMinimum: 0 }, valid: [5e-324, 0.1, 1e300], invalid: [0, -1] },
    {
      schema: { $schema: "http://json-schema.org/draft-04/schema#", minimum: 2, exclusiveMinimum: true },
      valid: [3, 2.01],
      invalid: [2, 1],
    },
  ],
  exclusiveMaximum: [{ schema: { type: "integer", exclusiveMaximum: 3 }, valid: [2, -9], invalid: [3, 4] }],
  multipleOf: [
    { schema: { type: "number", multipleOf: 7 }, valid: [0, 7, -14, 700], invalid: [1, 8, 3.5] },
    { schema: { type: "number", not: { multipleOf: 2 } }, valid: [1, 0.5, 1e-7], invalid: [0, 2, 1e21] },
    { schema: { type: "number", multipleOf: 0.25 }, valid: [0.25, -1.5, 3, 1e21], invalid: [0.3, 0.125] },
    { schema: { type: "integer", multipleOf: 0.5, minimum: 3, maximum: 4 }, valid: [3, 4], invalid: [3.5, 5] },
  ],
  allOf: [
    {
      schema: { allOf: [{ properties: { a: { type: "integer" } } }, { properties: { a: { minimum: 3 } }, required: ["a"] }] },
      valid: [{ a: 3 }, { a: 3, b: 1 }, 1],
      invalid: [{ a: 2 }, { a: 3.5 }, {}],
    },
  ],
  anyOf: [{ schema: { anyOf: [{ type: "string" }, { minimum: 3 }] }, valid: ["", 3, null, {}], invalid: [2] }],
  oneOf: [
    { schema: { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, valid: [2, 3, 9], invalid: [6, 1, "x"] },
    {
      schema: { type: "object", oneOf: [{ required: ["a"] }, { properties: { b: { const: 1 } }, required: ["b"] }] },
      valid: [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }],
      invalid: [{}, { a: 1, b: 1 }],
    },
    {
      schema: { oneOf: [{ items: { type: "integer" } }, { items: { type: "number" }, minItems: 2 }], type: "array" },
      valid: [[], [1], [1.5, 2]],
      invalid: [[1, 2], [1.5], ["x"]],
    },
  ],
  not: [
    { schema: { not: { type: "string", pattern: "^a" } }, valid: ["b", 1, {}], invalid: ["a"] },
    { schema: { type: "object", not: { required: ["a", "b"] } }, valid: [{}, { a: 1 }, { b: 1 }], invalid: [{ a: 1, b: 1 }] },
    {
      schema: { type: "array", not: { prefixItems: [{ const: 1 }], items: { const: 2 } } },
      valid: [[2], [1, 1], [1, 2, 3]],
      invalid: [[], [1], [1, 2, 2]],
    },
    { schema: { type: "integer", not: { enum: [1, 2] } }, valid: [0, 3], invalid: [1, 2] },
  ],
  "if, then, else": [
    {
      schema: {
        type: "object",
        properties: { kind: { enum: ["a", "b"] }, x: {} },
        required: ["kind"],
        if: { properties: { kind: { const: "a" } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ["x"] },
        else: { properties: { x: false } },
      },
      valid: [{ kind: "a", x: 1 }, { kind: "b" }],
      invalid: [{ kind: "a" }, { kind: "b", x: 1 }],
    },
  ],
  $ref: [
    {
      schema: {
        $ref: "#/$defs/list",
        $defs: { list: { type: ["object", "null"], properties: { next: { $ref: "#/$defs/list" } }, additionalProperties: false } },
      },
      valid: [null, {}, { next: { next: null } }],
      invalid: [{ next: 1 }, { x: 1 }],
    },
    {
      // Whether the branches overlap depends on members that are of this schema itself.
      schema: {
        oneOf: [
          { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
          { type: "object", properties: { a: { $ref: "#" } }, required: ["a", "b"] },
          { type: "object", maxProperties: 0 },
        ],
      },
      valid: [{}, { a: {} }, { a: { a: {} } }],
      invalid: [{ a: {}, b: 1 }, { a: { a: {}, b: 1 } }, { a: 1 }],
    },
    { schema: { items: { $ref: "#it" }, $defs: { x: { $anchor: "it", type: "null" } } }, valid: [[null]], invalid: [[1]] },
    {
      schema: { $id: "https://x.org/a/b", items: { $ref: "c" }, $defs: { c: { $id: "/a/c", type: "null" } } },
      valid: [[null]],
      invalid: [[1]],
    },
    {
      schema: { ...draft7, items: { $ref: "#/definitions/n", minimum: 9 }, definitions: { n: { type: "integer" } } },
      valid: [[1]],
      invalid: [["x"]],
    },
    { schema: { items: { $ref: "#/$defs/n", minimum: 9 }, $defs: { n: { type: "integer" } } }, valid: [[9]], invalid: [[1], ["x"]] },
  ],
  unevaluatedProperties: [
    {
      schema: {
        type: "object",
        properties: { a: {} },
        anyOf: [{ properties: { b: {} }, required: ["b"] }, { properties: { c: {} } }],
        unevaluatedProperties: false,
      },
      valid: [{ a: 1 }, { b: 1 }, { a: 1, c: 1 }, { b: 1, c: 1 }],
      invalid: [{ d: 1 }, { a: 1, d: 1 }],
    },
  ],
  "unevaluatedProperties across keywords": [
    { schema: { type: "object", unevaluatedProperties: { type: "null" } }, valid: [{}, { a: null }], invalid: [{ a: 1 }] },
    {
      schema: {
        type: "object",
        allOf: [{ patternProperties: { "^a": true } }],
        $ref: "#/$defs/x",
        unevaluatedProperties: false,
        $defs: { x: { properties: { b: true } } },
      },
      valid: [{ a1: 1, b: 1 }],
      invalid: [{ c: 1 }],
    },
    { schema: { type: "object", unevaluatedProperties: false, enum: [{ a: 1 }, {}] }, valid: [{}], invalid: [{ a: 1 }] },
    {
      schema: { type: "object", not: { not: { properties: { a: true } } }, unevaluatedProperties: false },
      valid: [{}],
      invalid: [{ a: 1 }],
    },
    {
      schema: {
        type: "object",
        oneOf: [
          { properties: { a: { const: 1 } }, required: ["a"] },
          { properties: { b: true }, required: ["b"] },
        ],
        unevaluatedProperties: false,
      },
      valid: [{ a: 1 }, { b: 1 }],
      invalid: [{ a: 1, b: 1 }, { a: 2, b: 1 }, {}],
    },
    {
      schema: { type: "object", if: { properties: { a: { const: 1 } }, required: ["a"] }, unevaluatedProperties: false },
      valid: [{}, { a: 1 }],
      invalid: [{ a: 2 }],
    },
    {
      schema: {
        type: "object",
        dependentSchemas: { a: { properties: { b: true } } },
        properties: { a: true },
        unevaluatedProperties: false,
      },
      valid: [{}, { a: 1, b: 1 }],
      invalid: [{ b: 1 }],
    },
    { schema: { allOf: [{ type: "object", unevaluatedProperties: true }], unevaluatedProperties: false }, valid: [{ a: 1 }], invalid: [1] },
    {
      schema: { allOf: [{ properties: { a: true } }, { type: "object", unevaluatedProperties: false }] },
      valid: [{}],
      invalid: [{ a: 1 }],
    },
  ],
  unevaluatedItems: [
    {
      schema: { type: "array", prefixItems: [{}], contains: { const: 1 }, unevaluatedItems: false },
      valid: [[1], [2, 1]],
      invalid: [[1, 2], [2]],
    },
  ],
  "unevaluatedItems across keywords": [
    {
      schema: { type: "array", allOf: [{ prefixItems: [true, true] }], unevaluatedItems: false },
      valid: [[], [1, 2]],
      invalid: [[1, 2, 3]],
    },
    {
      schema: { type: "array", anyOf: [{ items: { type: "string" } }, true], unevaluatedItems: { type: "null" } },
      valid: [["a"], [null]],
      invalid: [["a", null], [1]],
    },
    { schema: { type: "array", enum: [[1], []], unevaluatedItems: false }, valid: [[]], invalid: [[1]] },
    {
      schema: { type: "array", dependentSchemas: { a: { items: true } }, unevaluatedItems: false },
      valid: [[]],
      invalid: [[1], [{ a: 1 }]],
    },
    {
      schema: { type: "array", not: { not: { prefixItems: [true], unevaluatedItems: false } } },
      valid: [[], [1]],
      invalid: [[1, 2]],
    },
  ],
  "boolean schemas": [{ schema: { type: "object", properties: { a: true, b: false } }, valid: [{}, { a: 1 }], invalid: [{ b: 1 }] }],
};

describe.each(Object.entries(keywords))("%s", (_, rows) => {
  test.each(rows)("$schema", ({ schema, valid, invalid }) => {
    const accepts = acceptor(fromJsonSchema(schema, { order: "any" }));
    expect(valid.filter((value) => !accepts(JSON.stringify(value)))).toEqual([]);
    expect(invalid.filter((value) => accepts(JSON.stringify(value)))).toEqual([]);
  });
});
