import {
  abortSignal,
  boolean,
  check,
  checkOptions,
  describe,
  either,
  elementAt,
  type Kinds,
  list,
  string,
  within,
} from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import { yieldToEventLoop } from "../scheduler/eventLoop.ts";
import { SpecialMatcher } from "./specialMatcher.ts";
import type { TextModel } from "./textModel.ts";
import { TextStream } from "./textStream.ts";
import { numberList } from "./tokenIds.ts";
import type { DecodeOptions, EncodeAsyncOptions, EncodeOptions, Tokenizer, TokenizerKind } from "./tokenizer.ts";
import { byte, control, type FillInMiddleIds, normal, unknown, userDefined } from "./tokenKinds.ts";
import type { Vocabulary, VocabularyMetadata } from "./vocabulary.ts";

const encoder = new TextEncoder();
/** Milliseconds for which `encodeAsync` keeps the thread at a time. */
const maxHoldMs = 10;

const encodeKinds: Kinds<EncodeOptions> = { addSpecial: boolean, parseSpecial: either(boolean, list) };
const encodeAsyncKinds: Kinds<EncodeAsyncOptions> = { ...encodeKinds, maxTokens: within(1), signal: abortSignal };

/** A tokenizer that separates special tokens and leaves ordinary text to a {@link TextModel}. */
export class VocabularyTokenizer implements Tokenizer {
  readonly model: TokenizerKind;
  readonly vocabSize: number;
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
  readonly addSpacePrefix: boolean;
  readonly endOfGenerationIds: readonly number[];
  readonly fillInMiddle: FillInMiddleIds;
  readonly #vocabulary: Vocabulary;
  readonly #textModel: TextModel;
  readonly #specials: SpecialMatcher;
  readonly #pieces: (Uint8Array | undefined)[] = [];

  constructor(model: TokenizerKind, metadata: VocabularyMetadata, vocabulary: Vocabulary, textModel: TextModel, addSpacePrefix: boolean) {
    this.model = model;
    this.vocabSize = vocabulary.size;
    this.bosId = vocabulary.bosId;
    this.eosId = vocabulary.eosId;
    this.eotId = vocabulary.eotId;
    this.eomId = vocabulary.eomId;
    this.unknownId = vocabulary.unknownId;
    this.separatorId = vocabulary.separatorId;
    this.paddingId = vocabulary.paddingId;
    this.addBos = vocabulary.addBos;
    this.addEos = vocabulary.addEos;
    this.addSeparator = vocabulary.addSeparator;
    this.addSpacePrefix = addSpacePrefix;
    this.endOfGenerationIds = [...vocabulary.endOfGenerationIds].sort((a, b) => a - b);
    this.fillInMiddle = vocabulary.fillInMiddle;
    this.#vocabulary = vocabulary;
    this.#textModel = textModel;
    this.#specials = new SpecialMatcher(vocabulary.specialTokens(metadata));
  }

  encode(text: string, options: EncodeOptions = {}): Int32Array {
    check("encode", "text", text, string);
    checkOptions("encode", options, encodeKinds);
    const ids: number[] = [];
    for (const _ of this.#encodeInto(ids, text, options));
    return Int32Array.from(ids);
  }

  async encodeAsync(text: string, asyncOptions: EncodeAsyncOptions = {}): Promise<Int32Array> {
    check("encode", "text", text, string);
    const { signal, maxTokens = Number.POSITIVE_INFINITY, ...options } = checkOptions("encode", asyncOptions, encodeAsyncKinds);
    signal?.throwIfAborted();
    const ids: number[] = [];
    let pausedAt = performance.now();
    for (const _ of this.#encodeInto(ids, text, options)) {
      if (ids.length > maxTokens) break;
      if (performance.now() - pausedAt < maxHoldMs) continue;
      await yieldToEventLoop();
      signal?.throwIfAborted();
      pausedAt = performance.now();
    }
    return Int32Array.from(ids);
  }

  /** Appends ids step by step. */
  *#encodeInto(ids: number[], text: string, { addSpecial = true, parseSpecial = false }: EncodeOptions): Generator<void> {
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\ufffd");
    if (addSpecial && this.addBos && this.bosId !== undefined) ids.push(this.bosId);
    let atBoundary = true;
    for (const { start, end, id } of this.#specials.partition(wellFormed, parseSpecial)) {
      if (id < 0) yield* this.#textModel.encodeText(wellFormed.slice(start, end), atBoundary, ids);
      else ids.push(id);
      atBoundary = id >= 0;
    }
    if (addSpecial && this.addSeparator && this.separatorId !== undefined) ids.push(this.separatorId);
    if (addSpecial && this.addEos && this.eosId !== undefined) ids.push(this.eosId);
  }

  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    check("decode", "ids", ids, numberList);
    checkOptions("decode", options, { skipSpecial: boolean });
    const stream = new TextStream(this, options);
    let text = "";
    // Read one by one, because an object may claim any length.
    for (let i = 0; i < ids.length; i++) text += stream.push(ids[i] ?? Number.NaN);
    return text + stream.flush();
  }

  tokenBytes(id: number): Uint8Array {
    const cached = typeof id === "number" ? this.#pieces[id] : undefined;
    if (cached !== undefined) return cached;
    const bytes = this.#bytesOf(this.#check(id));
    this.#pieces[id] = bytes;
    return bytes;
  }

  tokenText(id: number): string {
    return elementAt(this.#vocabulary.texts, this.#check(id));
  }

  tokenId(text: string): number | undefined {
    return this.#vocabulary.ids.get(text);
  }

  isSpecial(id: number): boolean {
    return this.#vocabulary.is(this.#check(id), control | unknown);
  }

  isTextBoundary(id: number): boolean {
    return this.#vocabulary.is(this.#check(id), control | userDefined);
  }

  isEndOfGeneration(id: number): boolean {
    return this.#vocabulary.endOfGenerationIds.has(this.#check(id));
  }

  #bytesOf(id: number): Uint8Array {
    const text = elementAt(this.#vocabulary.texts, id);
    if (this.#vocabulary.is(id, control | unknown | userDefined)) return encoder.encode(text);
    if (this.#vocabulary.is(id, normal)) return this.#textModel.pieceBytes(text);
    const hex = this.#vocabulary.is(id, byte) ? /^<0x([0-9A-Fa-f]{2})>$/.exec(text)?.[1] : undefined;
    // Unused and undefined tokens stand for no text.
    return hex === undefined ? new Uint8Array(0) : Uint8Array.of(Number.parseInt(hex, 16));
  }

  #check(id: number): number {
    if (Number.isInteger(id) && this.#vocabulary.has(id)) return id;
    throw new TokenizerError(`tokenizer: expected a token id in 0 … ${this.vocabSize - 1}, got ${describe(id)}`);
  }
}
