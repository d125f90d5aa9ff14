import type { NotationSyntax } from "../formats/toolFormat.ts";
import type { ArgumentReader, ReadArguments } from "./argumentReader.ts";
import { parseArguments } from "./notation.ts";

const gemmaQuote = '<|"|>';

/** Reads arguments in the notation of Python or Gemma. They are passed on as a whole, since their JSON is other text. */
export class NotationReader implements ArgumentReader {
  readonly #syntax: NotationSyntax;
  #held = "";
  /** Length of the held text that was looked at. */
  #at = 0;
  #depth = 0;
  #quote: string | undefined;

  constructor(syntax: NotationSyntax) {
    this.#syntax = syntax;
  }

  push(text: string): ReadArguments {
    this.#held += text;
    const { end, notation } = this.#syntax;
    while (this.#at < this.#held.length) {
      if (this.#quote === undefined && this.#depth === 0 && this.#held.startsWith(end, this.#at)) {
        const args = parseArguments(this.#held.slice(0, this.#at), notation);
        const rest = this.#held.slice(this.#at + end.length);
        return args === undefined ? { delta: "", rest, isBroken: true } : { delta: JSON.stringify(args), rest };
      }
      const length = this.#step();
      if (length === 0) break;
      this.#at += length;
    }
    return { delta: "" };
  }

  flush(): ReadArguments {
    return { delta: "" };
  }

  /** Looks at the next character or quotation mark. Returns its length, 0 if more text is needed. */
  #step(): number {
    const rest = this.#held.slice(this.#at, this.#at + gemmaQuote.length);
    const character = rest[0] as string;
    if (this.#syntax.notation === "gemma") {
      if (rest === gemmaQuote) {
        this.#quote = this.#quote === undefined ? gemmaQuote : undefined;
        return gemmaQuote.length;
      }
      if (gemmaQuote.startsWith(rest)) return 0;
    } else if (this.#quote !== undefined) {
      if (character === "\\") return rest.length < 2 ? 0 : 2;
      if (character === this.#quote) this.#quote = undefined;
      return 1;
    } else if (character === "'" || character === '"') {
      this.#quote = character;
      return 1;
    }
    if (this.#quote === undefined) {
      if ("[{(".includes(character)) this.#depth++;
      else if ("]})".includes(character)) this.#depth = Math.max(0, this.#depth - 1);
    }
    return 1;
  }
}
