import { describe } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { Vocabulary } from "./vocabulary.ts";

const encoder = new TextEncoder();

/** The tokens `<0x00>` to `<0xFF>` of a vocabulary, which encode text that has no token of its own. */
export class ByteTokens {
  /** Id of each byte's token, or -1. */
  readonly #ids: Int32Array;
  readonly #unknownId: number | undefined;

  constructor({ ids, unknownId }: Pick<Vocabulary, "ids" | "unknownId">) {
    this.#ids = Int32Array.from({ length: 256 }, (_, byte) => ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`) ?? -1);
    this.#unknownId = unknownId;
  }

  /** Appends the tokens of a text's bytes. Bytes without a token are dropped. */
  appendKnown(text: string, out: number[]): void {
    out.push(...this.#idsOf(text).filter((id) => id >= 0));
  }

  /**
   * Appends the tokens of a text's bytes, or the unknown token if one of them has no token.
   * @throws {TokenizerError} if the vocabulary has neither
   */
  append(text: string, out: number[]): void {
    const ids = this.#idsOf(text);
    if (ids.every((id) => id >= 0)) out.push(...ids);
    else if (this.#unknownId !== undefined) out.push(this.#unknownId);
    else
      throw new TokenizerError(
        `encode: expected a token for every character, got none for ${describe(text)}; the vocabulary has no byte tokens`,
      );
  }
  #idsOf(text: string): number[] {
    return Array.from(encoder.encode(text), (byte) => this.#ids[byte] ?? -1);
  }
}
