import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder = new TextEncoder();

/** The tokens `<0x00>` to `<0xFF>` of a vocabulary, which spell what has no token of its own. */
export class ByteTokens {
  /** -1: none. */
  readonly #ids: Int32Array;
  readonly #unknownId: number | undefined;

  constructor({ ids, unknownId }: Pick<Vocabulary, "ids" | "unknownId">) {
    this.#ids = Int32Array.from({ length: 256 }, (_, byte) => ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`) ?? -1);
    this.#unknownId = unknownId;
  }

  /** Appends a text by the tokens of its bytes and leaves out bytes without one. */
  appendKnown(text: string, out: number[]): void {
    for (const byte of encoder.encode(text)) if (this.#ids[byte]! >= 0) out.push(this.#ids[byte]!);
  }

  /**
   * Appends a text by the tokens of its bytes or, where one of them is missing, by the unknown token.
   * @throws {TokenizerError} if the vocabulary has neither
   */
  append(text: string, out: number[]): void {
    const bytes = encoder.encode(text);
    if (bytes.every((byte) => this.#ids[byte]! >= 0)) for (const byte of bytes) out.push(this.#ids[byte]!);
    else if (this.#unknownId !== undefined) out.push(this.#unknownId);
    else
      throw new TokenizerError(
        `encode: expected a token for every character, got none for ${describe(text)}; the vocabulary has no byte tokens`,
      );
  }
}
