import { boolean, check, checkOptions, isRecord, type Kinds, kind, whole } from "@centella/quant/checks";
import type { Tokenizer } from "./tokenizer.ts";

/** Options of a {@link TextStream}. */
export interface TextStreamOptions {
  /** The id before the first one that is pushed, i.e. the last id of the prompt. Omit it if the stream is at the beginning of the text. */
  readonly after?: number | undefined;
  /** Omit control tokens. Default true. */
  readonly skipSpecial?: boolean;
  /** Control tokens that are shown even so. */
  readonly shown?: ReadonlySet<number>;
}

const space = 0x20;
const tokenizerKind = kind("a tokenizer", (value) => isRecord(value) && typeof value.tokenBytes === "function");
const kinds: Kinds<TextStreamOptions> = {
  after: whole(0),
  skipSpecial: boolean,
  shown: kind("a Set of ids", (value) => value instanceof Set),
};

/**
 * Converts ids that arrive one by one to text. A UTF-8 character that spans several tokens is returned with its last byte; invalid bytes
 * become U+FFFD. If the vocabulary adds a space before text, that space is removed again at the start and after control and user-defined
 * tokens, so that decoding mirrors encoding.
 */
export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #skipSpecial: boolean;
  readonly #shown: ReadonlySet<number> | undefined;
  // A leading U+FEFF is text here, not a byte-order mark.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #atBoundary: boolean;

  constructor(tokenizer: Tokenizer, options: TextStreamOptions = {}) {
    check("TextStream", "tokenizer", tokenizer, tokenizerKind);
    checkOptions("TextStream", options, kinds);
    this.#tokenizer = tokenizer;
    this.#skipSpecial = options.skipSpecial ?? true;
    this.#shown = options.shown;
    this.#atBoundary = options.after === undefined || tokenizer.isTextBoundary(options.after);
  }

  /**
   * The text that this id completes, often empty.
   * @throws {TokenizerError} if the id is outside the vocabulary
   */
  push(id: number): string {
    const bytes = this.#tokenizer.tokenBytes(id);
    if (this.#tokenizer.isTextBoundary(id)) {
      this.#atBoundary = true;
    } else if (this.#atBoundary && bytes.length > 0) {
      this.#atBoundary = false;
      if (this.#tokenizer.addSpacePrefix && bytes[0] === space) return this.#decode(bytes.subarray(1));
    }
    const isHidden = this.#skipSpecial && this.#tokenizer.isSpecial(id) && !this.#shown?.has(id);
    return isHidden ? "" : this.#decode(bytes);
  }

  /** Ends the text: an unfinished character becomes U+FFFD. The stream can be used for another text afterwards. */
  flush(): string {
    this.#atBoundary = true;
    return this.#decoder.decode();
  }

  #decode(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }
}
