import { describe, expect, test } from "vitest";
import { createTokenizer, TextStream, type Tokenizer, TokenizerError } from "../src/index.ts";
import { byteToChar, toByteLevel } from "../src/tokenizer/byteLevel.ts";
import { SpecialMatcher, type SpecialToken } from "../src/tokenizer/specialMatcher.ts";
import { describeShared, fakeMetadata, multilingual, shared, tokenizerOf } from "./shared.ts";

/** A byte-level vocabulary: the given special tokens, all bytes, then the merges' results. */
function byteLevel(
  specials: readonly (readonly [string, number])[],
  merges: readonly string[],
  more: Parameters<typeof fakeMetadata>[0] = {},
): Tokenizer {
  const tokens = [...specials.map(([text]) => text), ...byteToChar, ...merges.map((merge) => merge.replace(" ", ""))];
  return createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.token_type": tokens.map((_, id) => specials[id]?.[1] ?? 1),
      "tokenizer.ggml.merges": merges,
      ...more,
    }),
  );
}

/** A SentencePiece vocabulary of <unk> <s> </s>, byte tokens and the given pieces with their scores. */
function sentencePiece(pieces: readonly (readonly [string, number])[], more: Parameters<typeof fakeMetadata>[0] = {}): Tokenizer {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...pieces.map(([text]) => text)];
  return createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "llama",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.scores": tokens.map((_, id) => pieces[id - 259]?.[1] ?? 0),
      "tokenizer.ggml.token_type": tokens.map((_, id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1)),
      ...more,
    }),
  );
}

const texts = (tokenizer: Tokenizer, ids: ArrayLike<number>): string[] => Array.from(ids, (id) => tokenizer.tokenText(id));

describe("errors are typed and name what is wrong", () => {
  test.each([
    [{}, /got no such key/],
    [{ "tokenizer.ggml.model": "tiktoken" }, /got "tiktoken"/],
    [
      { "tokenizer.ggml.model": "bert", "tokenizer.ggml.tokens": ["[CLS]"], "tokenizer.ggml.cls_token_id": 0 },
      /seperator_token_id because/,
    ],
    [{ "tokenizer.ggml.model": "gpt2" }, /expected tokenizer.ggml.merges/],
    [{ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": [], "tokenizer.ggml.pre": "klingon" }, /got "klingon"; known are .*qwen2/],
    [{ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": [] }, /expected a vocabulary in tokenizer.ggml.tokens/],
    [{ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": ["ab"], "tokenizer.ggml.tokens": ["a"] }, /got "ab" at 0/],
    [{ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": [], "tokenizer.ggml.tokens": ["a", "b", "a"] }, /got "a" at 0 and 2/],
    [
      { "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["a", "b"], "tokenizer.ggml.scores": [0] },
      /expected 2 entries in tokenizer.ggml.scores, got 1/,
    ],
    [{ "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["a"] }, /add_bos_token is true/],
  ] as const)("%o", (values, message) => {
    expect(() => createTokenizer(fakeMetadata(values))).toThrow(TokenizerError);
    expect(() => createTokenizer(fakeMetadata(values))).toThrow(message);
  });

  test("ids outside the vocabulary", () => {
    const tokenizer = byteLevel([], []);
    for (const id of [-1, 256, 1.5, Number.NaN]) {
      expect(() => tokenizer.decode([id])).toThrow(TokenizerError);
      expect(() => tokenizer.isEndOfGeneration(id)).toThrow(/expected a token id in 0 … 255/);
    }
  });
});

describe("byte-level BPE", () => {
  test("lowest rank first, the leftmost of equals", () => {
    const tokenizer = byteLevel([], ["b c", "a b", "a a", "aa a"]);
    expect(texts(tokenizer, tokenizer.encode("abc"))).toEqual(["a", "bc"]);
    expect(texts(tokenizer, tokenizer.encode("aaaaa"))).toEqual(["aa", "aaa"]);
    expect(texts(tokenizer, tokenizer.encode("aaa"))).toEqual(["aaa"]);
  });

  test("a merge whose result is not a token becomes bytes", () => {
    const tokens = [...byteToChar, "abc"];
    const tokenizer = createTokenizer(
      fakeMetadata({ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["a b", "ab c"] }),
    );
    expect(texts(tokenizer, tokenizer.encode("abc"))).toEqual(["abc"]);
    expect(texts(tokenizer, tokenizer.encode("abd"))).toEqual(["a", "b", "d"]);
  });

  test("a byte without a token is dropped and the rest stays, as in llama.cpp", () => {
    const tokens = [...byteToChar.filter((_, byte) => byte !== 4 && byte !== 0xa9), "ab"];
    for (const unknown of [{}, { "tokenizer.ggml.unknown_token_id": 0 }]) {
      const tokenizer = createTokenizer(
        fakeMetadata({ "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["a b"], ...unknown }),
      );
      expect(texts(tokenizer, tokenizer.encode("ab\u0004ab"))).toEqual(["ab", "ab"]);
      expect(Array.from(tokenizer.encode("é"))).toEqual([tokens.indexOf("Ã")]);
    }
  });

  test("ignore_merges takes a whole word without merging", () => {
    const values = { "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": [...byteToChar, "word"], "tokenizer.ggml.merges": [] };
    const merging = createTokenizer(fakeMetadata(values));
    const whole = createTokenizer(fakeMetadata({ ...values, "tokenizer.ggml.ignore_merges": true }));
    expect(texts(merging, merging.encode("word"))).toEqual(["w", "o", "r", "d"]);
    expect(texts(whole, whole.encode("word"))).toEqual(["word"]);
  });

  test("the byte mapping is GPT-2's", () => {
    expect(toByteLevel(" \n\u00ad\u0000é")).toBe("ĠĊÂŃĀÃ©");
    expect(new Set(byteToChar).size).toBe(256);
  });

  test("decoding restores any text; lone surrogates become U+FFFD", () => {
    const tokenizer = byteLevel([], ["Ġ t", "h e"]);
    expect(tokenizer.decode(tokenizer.encode(multilingual))).toBe(multilingual);
    expect(tokenizer.decode(tokenizer.encode("a\ud800b\udc00"))).toBe("a\ufffdb\ufffd");
    expect(tokenizer.encode("").length).toBe(0);
  });
});

describe("SentencePiece", () => {
  const pieces = [
    ["▁", -3],
    ["a", -4],
    ["b", -5],
    ["▁a", -1],
    ["ab", -2],
    ["▁▁", -6],
  ] as const;

  test("highest score first, the leftmost of equals; unknown characters as bytes", () => {
    const tokenizer = sentencePiece(pieces);
    const encode = (text: string): string[] => texts(tokenizer, tokenizer.encode(text, { addSpecial: false }));
    expect(encode("ab")).toEqual(["▁a", "b"]);
    expect(encode("bab")).toEqual(["▁", "b", "ab"]);
    expect(encode("é")).toEqual(["▁", "<0xC3>", "<0xA9>"]);
    expect(encode("")).toEqual([]);
    expect(Array.from(tokenizer.encode(""))).toEqual([1]);
  });

  test("a token that crosses a word boundary is found", () => {
    const crossing = sentencePiece([...pieces, ["a▁", -0.5]]);
    expect(texts(crossing, crossing.encode("ba b", { addSpecial: false }))).toEqual(["▁", "b", "a▁", "b"]);
  });

  test("the space prefix can be turned off, and is added again after a special token", () => {
    const bare = sentencePiece(pieces, { "tokenizer.ggml.add_space_prefix": false });
    expect(texts(bare, bare.encode("ab", { addSpecial: false }))).toEqual(["ab"]);
    const tokenizer = sentencePiece(pieces);
    const ids = tokenizer.encode("ab</s>ab", { parseSpecial: true });
    expect(texts(tokenizer, ids)).toEqual(["<s>", "▁a", "b", "</s>", "▁a", "b"]);
    expect(tokenizer.decode(ids)).toBe("abab");
    expect(tokenizer.decode(ids, { skipSpecial: false })).toBe("<s>ab</s>ab");
  });

  test("without byte tokens, unknown characters are the unknown token", () => {
    const tokenizer = createTokenizer(
      fakeMetadata({
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "▁", "a"],
        "tokenizer.ggml.token_type": [2, 3, 3, 1, 1],
      }),
    );
    expect(Array.from(tokenizer.encode("aé"))).toEqual([1, 3, 4, 0]);
  });

  test("decoding restores any text", () => {
    const tokenizer = sentencePiece(pieces);
    for (const text of [multilingual, " a", "  a b ", "a\u2028b"]) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });
});

describe("special tokens", () => {
  const specials = [
    ["<|a|>", 3],
    ["<tool>", 4],
    ["<|im_end|>", 3],
  ] as const;

  test("control tokens only when asked for, user-defined ones always", () => {
    const tokenizer = byteLevel(specials, []);
    expect(texts(tokenizer, tokenizer.encode("<tool>"))).toEqual(["<tool>"]);
    expect(tokenizer.encode("<|a|>").length).toBe(5);
    expect(texts(tokenizer, tokenizer.encode("x<|a|>y", { parseSpecial: true }))).toEqual(["x", "<|a|>", "y"]);
  });

  test("control tokens are recognised only within the given spans", () => {
    const tokenizer = byteLevel(specials, []);
    const text = "<|a|><|a|><tool>";
    const encode = (...spans: [number, number][]): string[] => texts(tokenizer, tokenizer.encode(text, { parseSpecial: spans }));
    const spelt = ["<", "|", "a", "|", ">"];
    expect(encode([0, 5])).toEqual(["<|a|>", ...spelt, "<tool>"]);
    expect(encode([0, 9], [10, 16])).toEqual(["<|a|>", ...spelt, "<tool>"]);
    expect(encode([4, 10])).toEqual([...spelt, "<|a|>", "<tool>"]);
    expect(encode([0, 10])).toEqual(["<|a|>", "<|a|>", "<tool>"]);
    expect(encode()).toEqual([...spelt, ...spelt, "<tool>"]);
  });

  test("BOS and EOS follow the metadata", () => {
    const tokenizer = byteLevel(specials, [], {
      "tokenizer.ggml.bos_token_id": 0,
      "tokenizer.ggml.eos_token_id": 2,
      "tokenizer.ggml.add_bos_token": true,
      "tokenizer.ggml.add_eos_token": true,
    });
    expect(texts(tokenizer, tokenizer.encode("x"))).toEqual(["<|a|>", "x", "<|im_end|>"]);
    expect(texts(tokenizer, tokenizer.encode("x", { addSpecial: false }))).toEqual(["x"]);
    expect(tokenizer.decode(tokenizer.encode("x"))).toBe("x");
  });

  test("generation ends at EOS and at well-known texts", () => {
    const tokenizer = byteLevel([...specials, ["<|endoftext|>", 1]], [], { "tokenizer.ggml.eos_token_id": 0 });
    expect(tokenizer.endOfGenerationIds).toEqual([0, 2, 3]);
    expect(tokenizer.eotId).toBe(2);
    expect(tokenizer.isEndOfGeneration(1)).toBe(false);
    expect(tokenizer.isSpecial(3)).toBe(true);
  });

  test("in the Harmony format <|end|> does not end a generation, and markup is shown but still guarded", () => {
    const harmony = ["<|end|>", "<|return|>", "<|call|>", "<|channel|>"].map((text) => [text, 3] as const);
    const tokenizer = byteLevel(harmony, []);
    expect(tokenizer.endOfGenerationIds).toEqual([1, 2]);
    expect(tokenizer.isSpecial(3)).toBe(false);
    expect(tokenizer.encode("<|channel|>", { parseSpecial: [] }).length).toBe("<|channel|>".length);
  });

  test("ids of 2^32 - 1 mean none", () => {
    expect(byteLevel(specials, [], { "tokenizer.ggml.padding_token_id": 0xffffffff }).paddingId).toBeUndefined();
  });

  /** llama.cpp's way, literally: for each token by falling length, cut every piece of ordinary text at each occurrence. */
  function partitionByDefinition(text: string, tokens: readonly SpecialToken[]): (string | number)[] {
    let pieces: (string | number)[] = [text];
    for (const token of [...tokens].sort((a, b) => b.text.length - a.text.length || a.id - b.id)) {
      pieces = pieces.flatMap((piece) => {
        if (typeof piece === "number") return [piece];
        return piece.split(token.text).flatMap((part, i) => (i === 0 ? [part] : [token.id, part]));
      });
    }
    return pieces.filter((piece) => piece !== "");
  }

  test("overlapping tokens are resolved as llama.cpp does", () => {
    const tokens = ["ab", "bca", "aa", "c", "cabb"].map((text, id) => ({
      id,
      text,
      control: false,
      guarded: false,
      lstrip: false,
      rstrip: false,
    }));
    const matcher = new SpecialMatcher(tokens);
    for (let n = 0; n < 3 ** 8; n++) {
      const text = n
        .toString(3)
        .padStart(8, "0")
        .replace(/./g, (digit) => "abc"[Number(digit)]!);
      const pieces = matcher.partition(text, false).map(({ start, end, id }) => (id < 0 ? text.slice(start, end) : id));
      expect(pieces).toEqual(partitionByDefinition(text, tokens));
    }
  });

  test("tokens that strip include adjacent white space", () => {
    const base = { control: false, guarded: false };
    const matcher = new SpecialMatcher([
      { ...base, id: 0, text: "<r>", lstrip: false, rstrip: true },
      { ...base, id: 1, text: "<l>", lstrip: true, rstrip: false },
    ]);
    const text = "a <r> \n b <l> c";
    expect(matcher.partition(text, false).map(({ start, end, id }) => (id < 0 ? text.slice(start, end) : id))).toEqual([
      "a ",
      0,
      "b",
      1,
      " c",
    ]);
  });
});

describe("TextStream", () => {
  const tokenizer = byteLevel([["<|a|>", 3]], []);
  const bytes = (...values: number[]): number[] => values.map((value) => tokenizer.tokenId(byteToChar[value]!)!);
  const push = (ids: readonly number[]): string[] => {
    const stream = new TextStream(tokenizer);
    return [...ids.map((id) => stream.push(id)), stream.flush()];
  };

  test("holds a character until its last byte", () => {
    expect(push(bytes(0xf0, 0x9f, 0x98, 0x80, 0x21))).toEqual(["", "", "", "😀", "!", ""]);
  });

  test("invalid and unfinished bytes become U+FFFD as in TextDecoder", () => {
    expect(push(bytes(0xc3, 0x41, 0x80, 0xe2, 0x82)).join("")).toBe(new TextDecoder().decode(Uint8Array.of(0xc3, 0x41, 0x80, 0xe2, 0x82)));
    expect(push(bytes(0xe2, 0x82)).at(-1)).toBe("\ufffd");
  });

  test("keeps U+FEFF and omits control tokens unless asked for", () => {
    expect(push(bytes(0xef, 0xbb, 0xbf, 0x78)).join("")).toBe("\ufeffx");
    expect(push([0]).join("")).toBe("");
    expect(new TextStream(tokenizer, { skipSpecial: false }).push(0)).toBe("<|a|>");
  });

  test("removes the leading space at the start and after a control token, not within a text", () => {
    const spm = sentencePiece([
      ["▁", -3],
      ["a", -4],
      ["▁a", -1],
    ]);
    const word = spm.tokenId("▁a")!;
    expect(new TextStream(spm).push(word)).toBe("a");
    expect(new TextStream(spm, { after: 1 }).push(word)).toBe("a");
    expect(new TextStream(spm, { after: word }).push(word)).toBe(" a");
    expect(spm.decode([1, word, word, 2, word])).toBe("a aa");
  });
});

describeShared("real vocabularies", () => {
  test.each(["gpt-2", "llama-bpe", "qwen2", "deepseek-coder", "llama-spm"])("%s: a megabyte, hostile runs too", async (name) => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", `ggml-vocab-${name}.gguf`));
    expect(tokenizer.decode(tokenizer.encode(multilingual))).toBe(multilingual);
    for (const unit of [`${multilingual} The quick brown fox. `, "a", " ", "<|"]) {
      const text = unit.repeat(Math.ceil(250_000 / unit.length));
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });

  test("Phi-3's tokens include the white space after them, as in llama.cpp by the model's name", async () => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", "ggml-vocab-phi-3.gguf"));
    const ids = tokenizer.encode("<|user|>\nHi<|end|>\n", { addSpecial: false, parseSpecial: true });
    expect(texts(tokenizer, ids)).toEqual(["<|user|>", "▁Hi", "<|end|>"]);
  });

  test("Llama 3 adds BOS although its metadata does not ask for it", async () => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", "ggml-vocab-llama-bpe.gguf"));
    expect(Array.from(tokenizer.encode("Hello world"))).toEqual([128000, 9906, 1917]);
    expect(tokenizer.tokenText(tokenizer.eotId!)).toBe("<|eot_id|>");
    expect(tokenizer.endOfGenerationIds.map((id) => tokenizer.tokenText(id))).toEqual(["<|end_of_text|>", "<|eot_id|>"]);
  });
});
