import { type Cutter, type DigitGroups, digitGroups } from "./preTokenize.ts";

/** How a byte-level vocabulary splits text into words before merging, and the properties that llama.cpp derives from the name. */
export interface PreTokenizer {
  /** Cutters that are applied in turn; see `preTokenize`. */
  readonly patterns: readonly Cutter[];
  /** Whether a word that is a token is not merged from its parts. */
  readonly ignoreMerges: boolean;
  /** Whether BOS is added, unless the metadata says otherwise. */
  readonly addBos: boolean;
  /** Units of the vocabulary: bytes in GPT-2's mapping, or characters, with byte tokens for missing ones. */
  readonly units: "bytes" | "characters";
  /** Character that represents a space in the vocabulary, if it is not the space. */
  readonly space: string | undefined;
}

/** Pre-tokenizers that differ only in their names. */
export interface PreTokenizerFamily extends Partial<Pick<PreTokenizer, "units" | "space">> {
  /** Values of `tokenizer.ggml.pre`. */
  readonly names: readonly string[];
  readonly patterns: readonly (string | DigitGroups)[];
  readonly ignoreMerges?: true;
  readonly addBos?: true;
}

const contractions = "'s|'t|'re|'ve|'m|'ll|'d";
export const anyCaseContractions: string = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";
export const spaces: string = String.raw`\s+(?!\S)|\s+`;
export const newlinesAndSpaces: string = String.raw`\s*[\r\n]+|${spaces}`;
export const gpt2: string = String.raw`${contractions}| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|${spaces}`;
/** The pattern that OpenAI's cl100k introduced. Families differ in how many digits stay together. */
export const cl100k = (digits: string): string =>
  String.raw`${anyCaseContractions}|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|${newlinesAndSpaces}`;
/** Splits words where case changes. Outside ASCII, a letter counts as either case, as in llama.cpp. */
export const cased = (suffix: string, digits: string, letter: string = String.raw`\p{L}`): string => {
  const upper = `(?![a-z])${letter}`;
  const lower = `(?![A-Z])${letter}`;
  const lead = String.raw`[^\r\n\p{L}\p{N}]?`;
  return String.raw`${lead}(?:${upper})*(?:${lower})+${suffix}|${lead}(?:${upper})+(?:${lower})*${suffix}|${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${newlinesAndSpaces}`;
};
export const upToThreeDigits: string = String.raw`\p{N}{1,3}`;
export const oneDigit: string = String.raw`\p{N}`;
export const asciiTriple: string = "[0-9][0-9][0-9]";

/** The families of most models. Their regexes are those of llama.cpp's `llama-vocab.cpp`; `\s` means Unicode white space. */
export const commonFamilies: readonly PreTokenizerFamily[] = [
  { names: ["default"], patterns: [String.raw`[\p{P}$+<=>^~|]+`, gpt2, String.raw`\p{N}+`, asciiTriple] },
  {
    names: ["llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"],
    patterns: [cl100k(upToThreeDigits)],
    ignoreMerges: true,
    addBos: true,
  },
  { names: ["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], patterns: [cl100k(upToThreeDigits)] },
  {
    names: ["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"],
    patterns: [cl100k(oneDigit)],
  },
  {
    names: ["qwen35"],
    patterns: [
      String.raw`${anyCaseContractions}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${newlinesAndSpaces}`,
    ],
  },
  {
    names: [
      "gpt-2",
      "phi-2",
      "jina-es",
      "jina-de",
      "gigachat",
      "jina-v2-es",
      "jina-v2-de",
      "a.x-4.0",
      "mellum",
      "modern-bert",
      "jina-v1-en",
      "jina-v2-code",
      "roberta-bpe",
      "exaone4",
      "mpt",
      "olmo",
      "jais",
      "trillion",
      "granite-docling",
    ],
    patterns: [gpt2],
  },
  {
    names: ["starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"],
    patterns: [oneDigit, gpt2],
  },
  { names: ["gpt-4o", "llama4", "kanana2", "talkie"], patterns: [cased(`${anyCaseContractions}?`, upToThreeDigits)] },
  { names: ["tekken"], patterns: [cased("", oneDigit)], ignoreMerges: true, addBos: true },
];

/** The pre-tokenizer of a `tokenizer.ggml.pre` name; undefined if no family has the name. */
export function findPreTokenizer(families: readonly PreTokenizerFamily[], name: string): PreTokenizer | undefined {
  const family = families.find(({ names }) => names.includes(name));
  if (family === undefined) return undefined;
  const { ignoreMerges = false, addBos = false, units = "bytes", space } = family;
  return { patterns: family.patterns.map(compile), ignoreMerges, addBos, units, space };
}

/** Replaces `\s`: unlike Unicode's property and llama.cpp, JavaScript includes U+FEFF and excludes U+0085. */
function compile(source: string | DigitGroups): Cutter {
  if (typeof source !== "string") return digitGroups(source);
  return new RegExp(source.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");
}
