import { and, anyText, bytes, codePoints, not, optional, type Regular, repeat, sequence, text } from "@centella/grammar";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** First byte of what a control token stands for in a grammar. No UTF-8 text has it. */
const controlByte = 0xff;

/**
 * Markup in grammars for one vocabulary. A control token stands for bytes that no text has, so that it is allowed only where a grammar has
 * markup, never within a text that happens to spell it.
 */
export class Markup {
  readonly #tokenizer: Tokenizer;
  readonly #ids = new Set<number>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** Ids of the control tokens in all markup so far. */
  get controlIds(): readonly number[] {
    return [...this.#ids].sort((a, b) => a - b);
  }

  /** Matches `markup` with its control tokens. With `isEnd`, it goes up to the first token that ends a generation. */
  item(markup: string, isEnd = false): Regular {
    const items: Regular[] = [];
    let from = 0;
    const spaced = (rest: string): Regular[] => (rest === "" ? [] : [text(rest)]);
    for (const id of this.#tokenizer.encode(markup, { addSpecial: false, parseSpecial: true })) {
      if (!isTag(this.#tokenizer, id)) continue;
      const name = this.#tokenizer.tokenText(id);
      const at = markup.indexOf(name, from);
      if (at < 0) continue;
      items.push(...spaced(markup.slice(from, at)));
      if (isEnd && this.#tokenizer.isEndOfGeneration(id)) return sequence(items);
      from = at + name.length;
      items.push(this.#control(id));
    }
    return sequence([...items, ...spaced(markup.slice(from))]);
  }

  /** Matches any text up to the first occurrence of `markup`, and `markup`. */
  textUntil(markup: string): Regular {
    return sequence([textWithout(markup), this.item(markup)]);
  }

  #control(id: number): Regular {
    this.#ids.add(id);
    const item = sequence(Array.from(controlBytes(id), (byte) => bytes([[byte, byte]])));
    // Text after the token loses its first space, so tokens with one stand for what follows it.
    return this.#tokenizer.addSpacePrefix ? sequence([item, optional(" ")]) : item;
  }
}

/** Matches text in which `part` does not occur. */
export function textWithout(part: string): Regular {
  return and([anyText, not(sequence([anyText, part, anyText]))]);
}

/** Whether a token is no text: a control token, or an added one after which text loses its first space. */
export function isControl(tokenizer: Tokenizer, id: number): boolean {
  return tokenizer.isSpecial(id) || (tokenizer.addSpacePrefix && tokenizer.isTextBoundary(id));
}

const tagText = /^[<[\u25c1].*[>\]\u25b7]$/;

/** Whether a token of markup is a tag of its own: a control token, or an added one. Added tokens may also be white space, which is text. */
function isTag(tokenizer: Tokenizer, id: number): boolean {
  return isControl(tokenizer, id) || (tokenizer.isTextBoundary(id) && tagText.test(tokenizer.tokenText(id)));
}

/** The bytes that a control token stands for in grammars. */
export function controlBytes(id: number): Uint8Array {
  return Uint8Array.of(controlByte, id & 0xff, (id >> 8) & 0xff, (id >> 16) & 0xff);
}

/** Most characters of white space between parts of an answer. */
const maxSpace = 4;

/** White space between parts of an answer. */
export const whiteSpace: Regular = repeat(
  codePoints([
    [0x09, 0x0a],
    [0x0d, 0x0d],
    [0x20, 0x20],
  ]),
  0,
  maxSpace,
);

/** White space of any length. */
export const anySpace: Regular = repeat(
  bytes([
    [0x09, 0x0d],
    [0x20, 0x20],
  ]),
  0,
  Infinity,
);
