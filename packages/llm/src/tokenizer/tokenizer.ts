import type { FillInMiddleIds } from "./tokenKinds.ts";

/** How {@link Tokenizer.encode} treats special tokens. */
export interface EncodeOptions {
  /** Add BOS and EOS as the model's metadata asks for. Default true. */
  readonly addSpecial?: boolean;
  /**
   * Where the text of control tokens (`<|eot_id|>`) is recognised.
   * - false (the default): nowhere, so that untrusted text cannot forge a turn.
   * - true: everywhere.
   * - Spans `[start, end)` of UTF-16 units, ascending: within the spans. Tokens that look like control tokens then count as such, even if the
   *   file calls them user-defined.
   */
  readonly parseSpecial?: boolean | readonly (readonly [start: number, end: number])[];
}

/** How {@link Tokenizer.encodeAsync} treats a text. */
export interface EncodeAsyncOptions extends EncodeOptions {
  /** Stops once there are more ids than this. The result then has more ids, but not those of the whole text. Default: no limit. */
  readonly maxTokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How {@link Tokenizer.decode} treats special tokens. */
export interface DecodeOptions {
  /** Omit control tokens such as BOS or end-of-turn. false shows their text. Default true. */
  readonly skipSpecial?: boolean;
}

/**
 * Kind of a tokenizer, from `tokenizer.ggml.model`: `llama` is SentencePiece BPE with byte fallback, `gpt2` byte-level BPE, `bert` WordPiece,
 * `t5` SentencePiece unigram, `rwkv` the longest match of bytes, and `plamo2` unigram with byte fallback. `bert` and `t5` normalise the text,
 * so decoding does not restore it exactly.
 */
export type TokenizerKind = "llama" | "gpt2" | "bert" | "t5" | "rwkv" | "plamo2";

/** Converts text to token ids and back, as llama.cpp does for the same file. Immutable: calls may be interleaved freely. */
export interface Tokenizer {
  readonly model: TokenizerKind;
  readonly vocabSize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  /** End of turn, from the metadata or by a well-known text. */
  readonly eotId: number | undefined;
  readonly eomId: number | undefined;
  readonly unknownId: number | undefined;
  readonly separatorId: number | undefined;
  readonly paddingId: number | undefined;
  /** Whether `encode` starts with BOS by default. */
  readonly addBos: boolean;
  /** Whether `encode` ends with EOS by default. */
  readonly addEos: boolean;
  /** Whether `encode` ends with the separator by default. */
  readonly addSeparator: boolean;
  /** Whether `encode` adds a space before text that starts a sequence or follows a special token, which `decode` removes. */
  readonly addSpacePrefix: boolean;
  /** Ids that end a generation: EOS, end of turn, end of message, and tokens with well-known texts for these. Ascending. */
  readonly endOfGenerationIds: readonly number[];
  /** Tokens for filling a gap in a text, from the metadata or by well-known texts. */
  readonly fillInMiddle: FillInMiddleIds;

  /**
   * Token ids of a text. Lone surrogates count as U+FFFD.
   * @throws {TokenizerError} if the vocabulary has no token for a byte of the text
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /**
   * Like {@link encode}, but lets other work of the thread run while it encodes a long text.
   * @throws {TokenizerError} as {@link encode}, or the signal's reason
   */
  encodeAsync(text: string, options?: EncodeAsyncOptions): Promise<Int32Array>;
  /**
   * Text of token ids. Bytes that are not UTF-8 become U+FFFD. For ids that arrive one by one, use `TextStream`.
   * @throws {TokenizerError} if an id is outside the vocabulary
   */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string;
  /**
   * The bytes that a token stands for; for control tokens, their text. The array is shared: do not write to it.
   * @throws {TokenizerError} if the id is outside the vocabulary
   */
  tokenBytes(id: number): Uint8Array;
  /** The token's entry as the file spells it (`Ġthe`, `▁the`, `<0x0A>`). */
  tokenText(id: number): string;
  /** The id whose entry in the file is exactly this text. */
  tokenId(text: string): number | undefined;
  /** Whether an id is a control or unknown token, which is shown only if asked for. */
  isSpecial(id: number): boolean;
  /** Whether text after this id gets the space prefix: control and user-defined tokens. */
  isTextBoundary(id: number): boolean;
  isEndOfGeneration(id: number): boolean;
}
