import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import {
  anyCaseContractions,
  asciiTriple,
  cased,
  cl100k,
  commonFamilies,
  findPreTokenizer,
  gpt2,
  newlinesAndSpaces,
  oneDigit,
  type PreTokenizer,
  type PreTokenizerFamily,
  spaces,
  upToThreeDigits,
} from "./commonPreTokenizers.ts";

/** Words with their marks and letters of any case. In llama.cpp, the upper-case and lower-case categories match all letters. */
const marked = (digits: string): string =>
  String.raw`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+${anyCaseContractions}?|${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${newlinesAndSpaces}`;
const hanAndKana = String.raw`[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+`;
const eastAsian = String.raw`[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+`;
const bloom = String.raw` ?[^(\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+`;
/** The cased letters of the Unicode version that DeepSeek's tokenizer was made with. */
const deepseekLetters =
  String.raw`A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377` +
  String.raw`\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5` +
  String.raw`\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d` +
  String.raw`\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4` +
  String.raw`\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d` +
  String.raw`\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4` +
  String.raw`\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06` +
  String.raw`\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\u{10400}-\u{1044f}\u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}` +
  String.raw`\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-\u{1e943}`;
const deepseekV3Start = String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_\u0060{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+`;
const deepseekV3Words = String.raw`${deepseekV3Start}[\r\n]*|${newlinesAndSpaces}`;
const southEastAsian =
  String.raw`[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e00-\u0e7f\u0e80-\u0eff` +
  String.raw`\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+`;
/** Runs of one script or of its punctuation. */
const youtuScripts =
  String.raw`[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|` +
  String.raw`[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+`;
/** Spaces in powers of two, without the last one, which belongs to the next word. */
const halvedSpaces = [512, 256, 128, 64, 32, 16, 8, 4, "1,2"].map((count) => String.raw`\s{${count}}(?!\S)`).join("|");
/** Lines, and the breaks between them. */
const lines = String.raw`\n+`;
const notHan = String.raw`(?:(?!\p{Script=Han})[\p{L}\p{M}])`;

/** The families of the remaining models; see {@link commonFamilies}. */
const families: readonly PreTokenizerFamily[] = [
  ...commonFamilies,
  { names: ["falcon"], patterns: [String.raw`[\p{P}$+<=>^~|\u0060]+`, gpt2, asciiTriple] },
  { names: ["deepseek-coder"], patterns: ["[\r\n]", String.raw`\s?\p{L}+`, String.raw`\s?\p{P}+`, eastAsian, oneDigit] },
  {
    names: ["deepseek-llm"],
    patterns: [
      "[\r\n]",
      String.raw`\s?[${deepseekLetters}]+`,
      // llama.cpp turns U+3000 into plain white space before matching, so the range starts after it.
      String.raw`\s?[!-\/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001-\u3002]+`,
      // The look-behind only prevents a long run of spaces from being tried at each of its characters.
      String.raw`(?<!\s)\s+$`,
      eastAsian,
      String.raw`\p{N}+`,
    ],
  },
  { names: ["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], patterns: [upToThreeDigits, hanAndKana, deepseekV3Words] },
  { names: ["minimax-m2"], patterns: [cased(`${anyCaseContractions}?`, upToThreeDigits)] },
  { names: ["poro-chat", "bloom", "gpt3-finnish"], patterns: [bloom] },
  { names: ["viking"], patterns: [bloom, oneDigit] },
  {
    names: ["chameleon"],
    patterns: [
      "<sentinel:[0-9]+>",
      "IMGIMG[A-I]{1,4}Z",
      String.raw`[\t\n]|    |  `,
      oneDigit,
      String.raw`[\p{P}!-\/:-@\[-\u0060{-~]`,
      gpt2,
    ],
    addBos: true,
  },
  {
    names: ["bailingmoe", "bailingmoe2", "llada-moe"],
    patterns: [
      String.raw`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|${spaces}`,
    ],
  },
  { names: ["spark2_5"], patterns: [upToThreeDigits, hanAndKana, String.raw`${deepseekV3Start}|[\r\n]|${spaces}`, oneDigit] },
  {
    names: ["ufakzeka"],
    patterns: [String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|${newlinesAndSpaces}`],
  },
  { names: ["minicpm5"], patterns: [upToThreeDigits, cl100k(String.raw`\p{N}+`)], ignoreMerges: true },
  { names: ["laguna"], patterns: [String.raw`[^\n]+|\n+`, cl100k(oneDigit)] },
  {
    names: ["jais-2"],
    patterns: [
      String.raw`${anyCaseContractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|${halvedSpaces}|\s`,
    ],
  },
  { names: ["youtu"], patterns: [youtuScripts, marked(oneDigit)], ignoreMerges: true },
  // llama.cpp cuts numbers also where a letter follows, which the published regex does not.
  { names: ["tiny_aya", "cohere2moe"], patterns: [{ digits: /[0-9]+/g }, marked(upToThreeDigits)] },
  {
    names: ["granite-embed-multi-97m"],
    patterns: [cased(`${anyCaseContractions}?`, upToThreeDigits, String.raw`[\p{L}\p{M}]`)],
    ignoreMerges: true,
  },
  { names: ["superbpe"], patterns: [String.raw`\p{N}+`, { digits: /[0-9]+/g, open: true }] },
  { names: ["afmoe"], patterns: [{ digits: /\p{N}+/gu }, southEastAsian, deepseekV3Words] },
  {
    names: ["exaone-moe"],
    patterns: [
      String.raw`${anyCaseContractions}|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|${spaces}`,
    ],
  },
  {
    names: ["kimi-k2"],
    patterns: [
      String.raw`\p{Script=Han}+|[^\r\n\p{L}\p{N}]?${notHan}+${anyCaseContractions}?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|${newlinesAndSpaces}`,
    ],
  },
  {
    names: ["seed-coder"],
    patterns: [String.raw`${anyCaseContractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${newlinesAndSpaces}`],
  },
  { names: ["gemma4", "granite-embed-multi-311m"], patterns: [lines], addBos: true, units: "characters", space: "\u2581" },
  { names: ["sarvam-moe"], patterns: [lines], units: "characters", space: "\u2581" },
  { names: ["whitespace"], patterns: [String.raw`\s+`], units: "characters" },
];

/** Names that {@link preTokenizerFor} accepts. */
export const preTokenizerNames: readonly string[] = families.flatMap(({ names }) => names).sort();

/**
 * The pre-tokenizer of a `tokenizer.ggml.pre` name.
 * @throws {TokenizerError} if the name is unknown
 */
export function preTokenizerFor(name: string): PreTokenizer {
  const found = findPreTokenizer(families, name);
  if (found !== undefined) return found;
  throw new TokenizerError(
    `tokenizer: expected a known pre-tokenizer in tokenizer.ggml.pre, got ${describe(name)}; known are ${preTokenizerNames.join(", ")}`,
  );
}
