import { describe, elementAt } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { SpecialToken } from "./specialMatcher.ts";
import { completeKinds, control, type FillInMiddleIds, kindOfType, normal, structural, unknown, userDefined } from "./tokenKinds.ts";

/** The part of a GGUF file's metadata that tokenizers and chat templates read. `GgufFile.metadata` implements it. */
export interface VocabularyMetadata {
  optionalString(key: string): string | undefined;
  optionalNumber(key: string): number | undefined;
  optionalBool(key: string): boolean | undefined;
  optionalStrings(key: string): StringList | undefined;
  optionalNumbers(key: string): ArrayLike<number> | undefined;
}

/** A list of strings, which may be decoded one by one. */
export interface StringList extends Iterable<string> {
  readonly length: number;
  at(index: number): string | undefined;
}

/** Defaults of a tokenizer's kind, for keys that the metadata lacks. */
export interface VocabularyDefaults {
  readonly bosId?: number;
  readonly eosId?: number;
  readonly unknownId?: number;
  readonly separatorId?: number;
  readonly paddingId?: number;
  /** undefined: the kind adds no tokens to a text, whatever the file asks for. */
  readonly addBos: boolean | undefined;
  readonly addEos?: boolean;
  readonly addSeparator?: boolean;
}

const prefix = "tokenizer.ggml.";

/** The tables of `tokenizer.ggml.*`, checked and completed: texts, kinds, scores and special ids. */
export class Vocabulary {
  readonly texts: readonly string[];
  readonly ids: ReadonlyMap<string, number>;
  /** Bits of `tokenKinds.ts` for each id. */
  readonly kinds: Uint8Array;
  /** Scores of SentencePiece, which are log probabilities. Zeros if the file has none. */
  readonly scores: Float32Array;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly eotId: number | undefined;
  readonly eomId: number | undefined;
  readonly unknownId: number | undefined;
  readonly separatorId: number | undefined;
  readonly paddingId: number | undefined;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSeparator: boolean;
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly fillInMiddle: FillInMiddleIds;

  /** @throws {TokenizerError} if the tables are missing, too short or contradict each other */
  constructor(metadata: VocabularyMetadata, defaults: VocabularyDefaults) {
    this.texts = readTexts(metadata);
    this.ids = indexTexts(this.texts);
    this.kinds = this.#readKinds(metadata);
    this.scores = this.#readScores(metadata);

    // As in llama.cpp, an id outside the vocabulary (often 2^32 - 1) means that there is no such token.
    const id = (name: string, fallback?: number): number | undefined => {
      const value = metadata.optionalNumber(`${prefix}${name}_token_id`);
      return [value, fallback].find((candidate) => candidate !== undefined && this.has(candidate));
    };
    this.bosId = id("bos", defaults.bosId);
    this.eosId = id("eos", defaults.eosId);
    this.unknownId = id("unknown", defaults.unknownId);
    // The key of old files is misspelt, as in llama.cpp.
    this.separatorId = id("seperator") ?? id("separator", defaults.separatorId);
    this.paddingId = id("padding", defaults.paddingId);
    const roles = completeKinds(this.kinds, (text) => this.ids.get(text), {
      eosId: this.eosId,
      eotId: id("eot"),
      eomId: id("eom"),
      fimPrefixId: id("fim_pre") ?? id("prefix"),
      fimSuffixId: id("fim_suf") ?? id("suffix"),
      fimMiddleId: id("fim_mid") ?? id("middle"),
      fimPadId: id("fim_pad"),
      fimRepositoryId: id("fim_rep"),
      fimFileId: id("fim_sep"),
    });
    this.eotId = roles.eotId;
    this.eomId = roles.eomId;
    this.endOfGenerationIds = roles.endOfGenerationIds;
    this.fillInMiddle = roles.fillInMiddle;

    const adds = (name: string, fallback: boolean = false): boolean =>
      defaults.addBos !== undefined && (metadata.optionalBool(`${prefix}add_${name}_token`) ?? fallback);
    this.addBos = adds("bos", defaults.addBos);
    this.addEos = adds("eos", defaults.addEos);
    this.addSeparator = adds("sep", defaults.addSeparator);
    requireId(this.addBos, "add_bos_token", this.bosId, "bos_token_id");
    requireId(this.addEos, "add_eos_token", this.eosId, "eos_token_id");
    requireId(this.addSeparator, "add_sep_token", this.separatorId, "seperator_token_id");
  }

  get size(): number {
    return this.texts.length;
  }

  has(id: number): boolean {
    return Number.isInteger(id) && id >= 0 && id < this.texts.length;
  }

  is(id: number, bits: number): boolean {
    return ((this.kinds[id] ?? 0) & bits) !== 0;
  }

  /**
   * The tokens that are matched before anything else. Which ones swallow white space is not in GGUF; llama.cpp knows it
   * by model name (`general.name`) and pre-tokenizer, and so do we.
   */
  specialTokens(metadata: VocabularyMetadata): SpecialToken[] {
    const name = metadata.optionalString("general.name")?.toLowerCase() ?? "";
    const pre = metadata.optionalString(`${prefix}pre`) ?? "";
    const phi3 = name.includes("phi-3") || name.includes("phi3");
    const lstripText = /jina-v2-(?:de|es|code)/.test(pre) ? "<mask>" : name.includes("modern-bert") ? "[MASK]" : undefined;
    const tokens: SpecialToken[] = [];
    for (let id = 0; id < this.size; id++) {
      if (!this.is(id, control | unknown | userDefined)) continue;
      const text = elementAt(this.texts, id);
      tokens.push({
        id,
        text,
        control: this.is(id, control | unknown),
        guarded: this.is(id, control | unknown | structural) || looksStructural(text),
        lstrip: text === lstripText,
        rstrip: phi3 && !["<unk>", "<s>", "<|endoftext|>"].includes(text),
      });
    }
    return tokens;
  }

  #readKinds(metadata: VocabularyMetadata): Uint8Array {
    const types = metadata.optionalNumbers(`${prefix}token_type`);
    if (types === undefined) return new Uint8Array(this.size).fill(normal);
    requireLength("token_type", types.length, this.size);
    const kinds = new Uint8Array(this.size);
    for (let id = 0; id < this.size; id++) kinds[id] = kindOfType[types[id] ?? 0] ?? 0;
    return kinds;
  }

  #readScores(metadata: VocabularyMetadata): Float32Array {
    const scores = metadata.optionalNumbers(`${prefix}scores`);
    if (scores === undefined) return new Float32Array(this.size);
    requireLength("scores", scores.length, this.size);
    return Float32Array.from(scores).subarray(0, this.size);
  }
}

/** Whether a text has the form of conversation markup in most vocabularies. Some files list such tokens as user-defined, i.e. as plain text. */
function looksStructural(text: string): boolean {
  return /^<[|｜].*[|｜]>$/s.test(text);
}

function readTexts(metadata: VocabularyMetadata): string[] {
  const table = metadata.optionalStrings(`${prefix}tokens`);
  if (table === undefined || table.length === 0) {
    throw new TokenizerError("tokenizer: expected a vocabulary in tokenizer.ggml.tokens, got none; the file holds no tokenizer");
  }
  return Array.from(table, (text, id) => (text === "" ? `[EMPTY_${id}]` : text));
}

function indexTexts(texts: readonly string[]): Map<string, number> {
  const ids = new Map<string, number>();
  for (const [id, text] of texts.entries()) {
    const earlier = ids.get(text);
    if (earlier === undefined) ids.set(text, id);
    // Entries that are not UTF-8 may decode to the same text. They can only be found by id.
    else if (!text.includes("\ufffd")) {
      throw new TokenizerError(
        `tokenizer: expected each text once in tokenizer.ggml.tokens, got ${describe(text)} at ${earlier} and ${id}; convert the model again`,
      );
    }
  }
  return ids;
}

function requireLength(key: string, got: number, expected: number): void {
  if (got < expected) {
    throw new TokenizerError(`tokenizer: expected ${expected} entries in tokenizer.ggml.${key}, got ${got}; the file is damaged`);
  }
}

function requireId(wanted: boolean, flag: string, id: number | undefined, key: string): void {
  if (wanted && id === undefined) {
    throw new TokenizerError(
      `tokenizer: expected tokenizer.ggml.${key} because tokenizer.ggml.${flag} is true, got none in the vocabulary`,
    );
  }
}
