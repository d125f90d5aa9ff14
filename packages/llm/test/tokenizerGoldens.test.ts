import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createTokenizer } from "../src/tokenizer/createTokenizer.ts";
import { loadTokenizer } from "../src/tokenizer/loadTokenizer.ts";
import { describedBy } from "./vocabularies.ts";

/** Vocabularies of our own and what llama.cpp makes of texts by them; `scripts/tokenizer_goldens.py` writes it. */
const goldens = JSON.parse(readFileSync(new URL("fixtures/tokenizers.json", import.meta.url), "utf8")) as Record<
  string,
  {
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly ids: readonly (readonly [text: string, ids: readonly number[]])[];
    readonly special: readonly [text: string, ids: readonly number[]];
  }
>;

describe.each(Object.entries(goldens))("vocabulary %s", (name, { metadata, ids, special }) => {
  const tokenizer = createTokenizer(describedBy(metadata));

  test.each(ids)("ids of %j, and back", (text, wanted) => {
    const got = Array.from(tokenizer.encode(text, { addSpecial: false }));
    expect(got).toEqual(wanted);
    // WordPiece normalises, and in some kinds a character that represents a space is decoded as a space.
    if (name.startsWith("bert")) return;
    const wantedText = ["whitespace", "rwkv", "plamo2"].includes(name) ? text : text.replaceAll("\u2581", " ");
    expect(tokenizer.decode(got)).toBe(name === "plamo2" ? wantedText.replace(/^\ufeff/, "") : wantedText);
  });

  test("added special tokens, also if only the code of the kind is loaded", async () => {
    expect(Array.from(tokenizer.encode(special[0]))).toEqual(special[1]);
    expect(Array.from((await loadTokenizer(describedBy(metadata))).encode(special[0]))).toEqual(special[1]);
  });
});
