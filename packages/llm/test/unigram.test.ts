import { describe, expect, test } from "vitest";
import { createTokenizer, type Tokenizer, TokenizerError } from "../src/index.ts";
import { CharsMap } from "../src/tokenizer/charsMap.ts";
import { fakeMetadata } from "./shared.ts";
import { unigram } from "./unigramFixture.ts";

function tokenizer(more: Parameters<typeof fakeMetadata>[0] = {}): Tokenizer {
  return createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "t5",
      "tokenizer.ggml.tokens": unigram.tokens,
      "tokenizer.ggml.scores": unigram.scores,
      "tokenizer.ggml.token_type": unigram.types,
      "tokenizer.ggml.precompiled_charsmap": [...Buffer.from(unigram.charsMap, "base64")],
      "tokenizer.ggml.add_space_prefix": true,
      "tokenizer.ggml.remove_extra_whitespaces": true,
      ...more,
    }),
  );
}

describe("unigram", () => {
  test.each(unigram.texts)("ids of %j are SentencePiece's", (text, ids) => {
    expect(Array.from(tokenizer().encode(text, { addSpecial: false }))).toEqual(ids);
  });

  test("EOS ends a text, and decoding gives the normalised text", () => {
    const t5 = tokenizer();
    const ids = Array.from(t5.encode("  the ﬁne   fox"));
    expect(ids.at(-1)).toBe(1);
    expect(t5.decode(ids)).toBe("the fine fox");
  });

  test("without merging, spaces stay; without a prefix, none is added", () => {
    const apart = (more: Parameters<typeof fakeMetadata>[0]): string[] => {
      const t5 = tokenizer(more);
      return Array.from(t5.encode("the  old", { addSpecial: false }), (id) => t5.tokenText(id));
    };
    expect(apart({ "tokenizer.ggml.remove_extra_whitespaces": false })).toEqual(["▁the", "▁", "▁old"]);
    const bare = apart({ "tokenizer.ggml.remove_extra_whitespaces": false, "tokenizer.ggml.add_space_prefix": false });
    expect(bare.join("")).toBe("the▁▁old");
    expect(apart({ "tokenizer.ggml.add_space_prefix": false })).toEqual(["▁the", "▁old"]);
  });

  test("user-defined tokens are matched before the text is cut", () => {
    const t5 = tokenizer();
    const sep = t5.tokenId("→")!;
    expect(Array.from(t5.encode("the→", { addSpecial: false }))).toEqual([t5.tokenId("▁the"), sep]);
  });

  test("a megabyte in one go", () => {
    const t5 = tokenizer();
    const text = unigram.texts.map(([line]) => line).join(" ");
    const long = text.repeat(Math.ceil(1e6 / text.length));
    expect(t5.encode(long).length).toBeGreaterThan(1e5);
  });

  test.each([[[1, 2]], [[255, 255, 255, 255, 0]], [[3, 0, 0, 0, 1, 2, 3, 0]], [[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]])(
    "a damaged map %j is an error, not a crash",
    (bytes) => {
      expect(() => new CharsMap(Uint8Array.from(bytes))).toThrow(TokenizerError);
    },
  );

  test("a map with offsets outside its range is an error", () => {
    const bytes = Uint8Array.from(Buffer.from(unigram.charsMap, "base64"));
    const cut = new Uint8Array([4, 0, 0, 0, ...bytes.subarray(4, 8), 0, 0]);
    expect(() => new CharsMap(cut).longest(new TextEncoder().encode("ﬁ"), 0)).toThrow(TokenizerError);
  });
});
