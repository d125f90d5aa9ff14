import { describe, expect, test } from "vitest";
import { fromJsonSchema, type JsonSchemaOptions } from "../src/index.ts";
import { acceptor, refusal } from "./jsonText.ts";

describe("texts", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "array", items: { type: "integer" } }, b: { type: "object" } },
    required: ["a", "b"],
  };
  const value = { a: [1, 2], b: { c: {}, d: [[]] } };
  const accepts = (options: JsonSchemaOptions) => acceptor(fromJsonSchema(schema, options));

  test("are compact by default", () => {
    const isAccepted = accepts({});
    expect(isAccepted(JSON.stringify(value))).toBe(true);
    expect(isAccepted(JSON.stringify(value, undefined, 2))).toBe(false);
    expect(isAccepted('{"a": [1],"b":{}}')).toBe(false);
  });

  test("with white space pretty are indented by two spaces", () => {
    const isAccepted = accepts({ whitespace: "pretty" });
    expect(isAccepted(JSON.stringify(value, undefined, 2))).toBe(true);
    expect(isAccepted(JSON.stringify(value))).toBe(false);
    expect(isAccepted(JSON.stringify(value, undefined, 4))).toBe(false);
  });

  test("with any white space have up to the limit in each place", () => {
    const isAccepted = accepts({ whitespace: "any", maxWhitespace: 4 });
    for (const indentation of [0, 1, "\t"]) expect(isAccepted(JSON.stringify(value, undefined, indentation))).toBe(true);
    expect(isAccepted('{ "a" : [ 1 , 2 ] , "b" :\r\n{ } }')).toBe(true);
    expect(isAccepted('{"a":[    ],"b":{}}')).toBe(true);
    expect(isAccepted('{"a":[     ],"b":{}}')).toBe(false);
    expect(isAccepted(' {"a":[],"b":{}}')).toBe(false);
  });

  test("have their properties in the order of the schema, and the required and other ones after them", () => {
    const isAccepted = acceptor(fromJsonSchema({ type: "object", properties: { b: {}, a: {} }, required: ["z"] }));
    expect(isAccepted('{"b":1,"a":1,"z":1,"y":1}')).toBe(true);
    expect(isAccepted('{"z":1}')).toBe(true);
    expect(isAccepted('{"a":1,"b":1,"z":1}')).toBe(false);
    expect(isAccepted('{"y":1,"z":1}')).toBe(false);
  });

  test("never name a property twice that the schema names", () => {
    for (const order of ["schema", "any"] as const) {
      const isAccepted = acceptor(fromJsonSchema({ type: "object", properties: { a: {}, b: {} } }, { order }));
      expect(isAccepted('{"a":1,"a":2}')).toBe(false);
    }
  });

  test("escape what has to be escaped, and nothing else", () => {
    const isAccepted = acceptor(fromJsonSchema({ type: "string", maxLength: 1 }));
    for (const text of ['"\\n"', '"\\u000a"', '"\\u000A"', '"\\""', '"\\\\"', '"\u007f"', '"/"'])
      expect([text, isAccepted(text)]).toEqual([text, true]);
    for (const text of ['"\n"', '"\\/"', '"\\u0041"', '"\\x"', '"""', '"\\"']) expect([text, isAccepted(text)]).toEqual([text, false]);
  });

  test("of numbers have no exponent that cannot be decided, no leading zero and no negative zero", () => {
    const isAccepted = acceptor(fromJsonSchema({ type: "number", exclusiveMaximum: 3 }));
    for (const text of ["2.99", "1e0", "-1.5E+20", "2.9999999999999996"]) expect([text, isAccepted(text)]).toEqual([text, true]);
    for (const text of ["3", "3.0", "01", "-0", "1.", ".5", "12e1", "1e999", "2.99999999999999999", "9".repeat(400)])
      expect([text, isAccepted(text)]).toEqual([text, false]);
  });
});

describe("keywords that have no effect", () => {
  const schema = { type: "object", title: "t", nullable: true, properties: { a: { format: "color", default: 1 } } };

  test("are listed with their pointers", () => {
    expect(fromJsonSchema(schema).warnings).toEqual([
      { pointer: "", keyword: "nullable", reason: "unknown keyword, ignored" },
      { pointer: "/properties/a", keyword: "format", reason: 'unknown format "color", ignored' },
    ]);
  });

  test("are an error on request", () => {
    const error = refusal(() => fromJsonSchema(schema, { unknownKeywords: "error" }));
    expect(error).toMatchObject({ code: "GRAMMAR_UNSUPPORTED", pointer: "", keyword: "nullable" });
  });

  test("are those that the draft does not know", () => {
    expect(fromJsonSchema({ $schema: "http://json-schema.org/draft-07/schema#", prefixItems: [false] }).warnings).toMatchObject([
      { keyword: "prefixItems" },
    ]);
  });
});
