import type { ArgumentSyntax } from "./toolFormat.ts";

/** Reads the arguments of one call from a text that arrives in pieces. */
export interface ArgumentReader {
  /** Adds text. Afterwards the arguments may have ended. */
  push(text: string): ReadArguments;
  /** Ends the text. */
  flush(): ReadArguments;
}

/** What a piece of text adds to the arguments. */
export interface ReadArguments {
  /** Text to append to the arguments, which are JSON as a whole. */
  readonly delta: string;
  /** Text after the arguments, once they have ended. */
  readonly rest?: string;
  /** Whether the text is none of the syntax, from here on. */
  readonly isBroken?: boolean;
}

/** The schema of a tool's arguments. */
export type ArgumentSchema = Readonly<Record<string, unknown>> | boolean | undefined;

/** Makes readers of a syntax. */
export type ArgumentReaders = (schema: ArgumentSchema) => ArgumentReader;

/** Returns the readers of a syntax. Their code is loaded on demand. */
export async function argumentReaders(syntax: ArgumentSyntax): Promise<ArgumentReaders> {
  if (syntax.kind === "tagged") {
    const { TaggedReader } = await import("./taggedReader.ts");
    return (schema) => new TaggedReader(syntax, schema);
  }
  if (syntax.kind === "notation") {
    const { NotationReader } = await import("./notationReader.ts");
    return () => new NotationReader(syntax);
  }
  return () => new JsonReader();
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\{}[]'].map((character) => character.charCodeAt(0));

/** Reads a JSON object up to the brace that closes it. */
export class JsonReader implements ArgumentReader {
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  push(text: string): ReadArguments {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#depth === 0 && unit !== openBrace) {
        if (text[i]?.trim() === "") continue;
        return { delta: "", isBroken: true };
      }
      if (this.#step(unit)) return { delta: text.slice(0, i + 1), rest: text.slice(i + 1) };
    }
    return { delta: this.#depth === 0 ? "" : text };
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
