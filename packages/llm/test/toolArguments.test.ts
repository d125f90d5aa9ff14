import { UnsupportedError } from "@centella/core";
import { compile, vocabulary } from "@centella/grammar";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { Markup } from "../src/format/markup.ts";
import { createTokenizer } from "../src/tokenizer/createTokenizer.ts";
import { argumentFamily } from "../src/tools/arguments/argumentFamilies.ts";
import type { ArgumentSyntax, NotationSyntax, TaggedSyntax } from "../src/tools/formats/toolFormat.ts";
import { fakeMetadata } from "./shared.ts";

const tokens = ["<unk>", "<s>", "</s>", "a"];
const markup = new Markup(
  createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "llama",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.scores": tokens.map(() => 0),
      "tokenizer.ggml.token_type": [2, 3, 3, 1],
      "tokenizer.ggml.eos_token_id": 2,
      "tokenizer.ggml.add_space_prefix": false,
    }),
  ),
);
const bytes = vocabulary(
  Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  {},
);
const open = { string: ">", number: ">", boolean: ">", null: ">", array: ">", object: ">" };
const tagged: TaggedSyntax = { kind: "tagged", first: "<arg ", open, close: "</arg>", next: "<arg ", isPython: false, hasCdata: false };
const python: NotationSyntax = { kind: "notation", assign: "=", comma: ", ", end: ")", notation: "python" };

const optional = { anyOf: [{ type: "string" }, { type: "null" }] };
const limited = {
  description: "a limit",
  anyOf: [{ type: "integer", minimum: 1, maximum: 9 }, { enum: ["all", "none"] }, { $ref: "#/$defs/range" }],
};
const $defs = {
  range: { anyOf: [{ type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 }, { type: "boolean" }] },
  tree: {
    type: "object",
    properties: { next: { anyOf: [{ $ref: "#/$defs/tree" }, { type: "null" }] } },
    required: ["next"],
    additionalProperties: false,
  },
};

function schemaOf(property: unknown) {
  return { $defs, type: "object", properties: { x: property }, required: ["x"], additionalProperties: false };
}

/** What is read of the arguments, if the grammar accepts them. */
async function read(syntax: ArgumentSyntax, property: unknown, text: string): Promise<unknown> {
  const schema = schemaOf(property);
  const family = await argumentFamily(syntax);
  const { grammar } = family.grammar("f", schema, { markup, signal: undefined });
  const matcher = compile(grammar, bytes).matcher();
  if (!matcher.acceptBytes(new TextEncoder().encode(text)) || !matcher.isComplete) return "refused";
  const { delta } = family.createReader(schema).push(`${text}</f>`);
  const value = JSON.parse(delta) as { readonly x: unknown };
  expect(new Ajv2020().compile(schema)(value), delta).toBe(true);
  return value.x;
}

describe("a choice of schemas for an argument", () => {
  test.each([
    ["between tags", tagged, optional, "<arg x>null</arg>", null],
    ["between tags", tagged, optional, "<arg x>12</arg>", "12"],
    ["between tags", tagged, optional, "<arg x>any [text]</arg>", "any [text]"],
    ["between tags", tagged, limited, "<arg x>7</arg>", 7],
    ["between tags", tagged, limited, "<arg x>10</arg>", "refused"],
    ["between tags", tagged, limited, "<arg x>all</arg>", "all"],
    ["between tags", tagged, limited, "<arg x>some</arg>", "refused"],
    ["between tags", tagged, limited, "<arg x>[1, 2]</arg>", [1, 2]],
    ["between tags", tagged, limited, "<arg x>[1]</arg>", "refused"],
    ["between tags", tagged, { $ref: "#/$defs/tree" }, '<arg x>{"next": {"next": null}}</arg>', { next: { next: null } }],
    ["between tags", tagged, { type: "string", anyOf: [{ maxLength: 2 }, { pattern: "^abc" }] }, "<arg x>abcd</arg>", "abcd"],
    ["between tags", tagged, { type: "string", anyOf: [{ maxLength: 2 }, { pattern: "^abc" }] }, "<arg x>bcd</arg>", "refused"],
    ["in Python's notation", python, optional, "x=None)", null],
    ["in Python's notation", python, optional, 'x="None")', "None"],
    ["in Python's notation", python, limited, "x=7)", 7],
    ["in Python's notation", python, limited, "x=70)", "refused"],
    ["in Python's notation", python, limited, "x=[1, 2])", [1, 2]],
    ["in Python's notation", python, limited, "x=False)", false],
    ["in Python's notation", python, limited, 'x="none")', "none"],
    ["in Python's notation", python, { $ref: "#/$defs/tree" }, 'x={"next": {"next": None}})', { next: { next: null } }],
  ])("%s: $3", async (_, syntax, property, text, expected) => {
    expect(await read(syntax, property, text)).toEqual(expected);
  });

  test.each([
    ["a cycle", { $ref: "#/$defs/loop" }, "anyOf"],
    ["keywords that depend on one another", { type: "array", items: { type: "integer" }, anyOf: [{ maxItems: 1 }] }, "items"],
    ["two types", { type: "string", anyOf: [{ type: "null" }, { type: "string" }] }, "type"],
    ["another choice", { oneOf: [{ type: "string" }] }, "oneOf"],
  ])("is refused with %s", async (_, property, keyword) => {
    const schema = { ...schemaOf(property), $defs: { loop: { anyOf: [{ $ref: "#/$defs/loop" }, { type: "null" }] } } };
    for (const syntax of [tagged, python]) {
      const { grammar } = await argumentFamily(syntax);
      const make = () => grammar("f", schema, { markup, signal: undefined });
      expect(make).toThrow(UnsupportedError);
      expect(make).toThrow(new RegExp(`"${keyword}"`));
    }
  });
});

test("the type of an argument is read through references", async () => {
  const schema = { ...schemaOf({ $ref: "#/$defs/name" }), $defs: { name: { type: "string" } } };
  const { createReader } = await argumentFamily(tagged);
  expect(createReader(schema).push("<arg x>12</arg></f>").delta).toBe('{"x": "12"}');
});

test("an abort ends the making of a grammar in either notation", async () => {
  const reason = new Error("enough");
  for (const syntax of [tagged, python]) {
    const { grammar } = await argumentFamily(syntax);
    expect(() => grammar("f", schemaOf({ type: "integer", minimum: 5 }), { markup, signal: AbortSignal.abort(reason) })).toThrow(reason);
  }
});
