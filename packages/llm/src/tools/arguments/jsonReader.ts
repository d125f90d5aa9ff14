import type { ArgumentReader, ReadArguments } from "./argumentReader.ts";

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\{}[]'].map((character) => character.charCodeAt(0));

/** Reads a JSON object up to the brace that closes it. */
export class JsonReader implements ArgumentReader {
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  push(text: string): ReadArguments {
    // White space before the object is dropped.
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#depth === 0 && unit !== openBrace) {
        from = i + 1;
        if (text[i]?.trim() === "") continue;
        return { delta: "", rest: text.slice(i), isBroken: true };
      }
      if (this.#step(unit)) return { delta: text.slice(from, i + 1), rest: text.slice(i + 1) };
    }
    return { delta: text.slice(from) };
  }

  flush(): ReadArguments {
    return { delta: "" };
  }

  /** Returns whether the object ends with this unit. */
  #step(unit: number): boolean {
    if (this.#isString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (unit === backslash) this.#isEscaped = true;
      else if (unit === quote) this.#isString = false;
    } else if (unit === quote) this.#isString = true;
    else if (unit === openBrace || unit === openBracket) this.#depth++;
    else if (unit === closeBrace || unit === closeBracket) return --this.#depth === 0;
    return false;
  }
}
