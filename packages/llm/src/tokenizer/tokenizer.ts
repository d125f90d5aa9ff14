import type { FillInMiddleIds } from "./tokenKinds.ts";

/** How {@link Tokenizer.encode} treats special tokens. */
export interface EncodeOptions {
  /** Add BOS and EOS as the model's metadata asks for. Default true. */
  readonly addSpecial?: boolean;
  /**
   * Where the text of control tokens (`<|eot_id|>`) is honoured: nowhere (false, the default), so that text from outside cannot forge a
   * turn; everywhere (true); or within these spans `[start, end)` of UTF-16 units, ascending. With spans, all tokens that have the form of
   * control tokens count as such, even where the file calls them user-defined.
   */
  readonly parseSpecial?: boolean | readonly (readonly [start: number, end: number])[];
}

/** How {@link Tokenizer.encodeAsync} treats a text. */
export interface EncodeAsyncOptions extends EncodeOptions {
  /** Stop where there are more ids than this: the result then has more, but not those of the whole text. Default: no limit. */
  readonly maxTokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How {@link Tokenizer.decode} treats special tokens. */
export interface DecodeOptions {
  /** Leave out control tokens such as BOS or end-of-turn. Default true; false shows their text. */
  readonly skipSpecial?: boolean;
}

/**
 * `tokenizer.ggml.model`: `llama` = SentencePiece BPE with byte fallback, `gpt2` = byte-level BPE, `bert` = WordPiece, `t5` =
 * SentencePiece unigram. The latter two normalise the text, so that it does not come back as it was.
 */
export type TokenizerKind = "llama" | "gpt2" | "bert" | "t5";

/** Text to token ids and back, as llama.cpp does it for the same file. Immutable; calls may be interleaved freely. */
export interface Tokenizer {
  readonly model: TokenizerKind;
  readonly vocabSize: number;
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  /** End of turn, from the metadata or by its well-known text. */
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
  /** Whether a space is put before text that starts a sequence or follows a special token, and taken away when decoding. */
  readonly addSpacePrefix: boolean;
  /** Every id that ends a generation: EOS, end of turn, end of message and their well-known spellings. Ascending. */
  readonly endOfGenerationIds: readonly number[];
  /** Tokens for filling a gap in a text, from the metadata or by their well-known texts. */
  readonly fillInMiddle: FillInMiddleIds;

  /**
   * Token ids of a text. Lone surrogates count as U+FFFD.
   * @throws {TokenizerError} if the vocabulary has no token for a byte of the text
   */
  encode(text: string, options?: EncodeOptions): Int32Array;
  /**
   * {@link encode} that lets other work of the thread run while it encodes a long text.
   * @throws {TokenizerError} as {@link encode}, or the signal's reason
   */
  encodeAsync(text: string, options?: EncodeAsyncOptions): Promise<Int32Array>;
  /**
   * Text of token ids; bytes that are no UTF-8 become U+FFFD. For ids that arrive one by one use `TextStream`.
   * @throws {TokenizerError} if an id is outside the vocabulary
   */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string;
  /**
   * The bytes that a token stands for, control tokens with their text. Shared: do not write into it.
   * @throws {TokenizerError} if the id is outside the vocabulary
   */
  tokenBytes(id: number): Uint8Array;
  /** The token's entry as the file spells it (`Ġthe`, `▁the`, `<0x0A>`). */
  tokenText(id: number): string;
  /** The id whose entry in the file is exactly this text. */
  tokenId(text: string): number | undefined;
  /** Control or unknown token: never shown unless asked for. */
  isSpecial(id: number): boolean;
  /** Whether text after this id gets the space prefix: control and user-defined tokens. */
  isTextBoundary(id: number): boolean;
  isEndOfGeneration(id: number): boolean;
}
