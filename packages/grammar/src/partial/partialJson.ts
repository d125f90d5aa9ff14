import { argumentError, shown } from "../checks.ts";
import type { GrammarError } from "../errors.ts";
import { sourceError } from "../source/sourceError.ts";

/** A value that JSON can express. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/**
 * The value of the beginning of a JSON text, for showing an answer while it is generated. Open strings, arrays and objects are closed. `tru`
 * is `true`. A property without a value is left out, and so is a number in an array or object that the text may continue. Of a number that
 * is the whole text, the digits so far count.
 *
 * A longer beginning of the same text never takes a value back: strings, arrays and objects grow, the remaining values stay. The whole text
 * has the value that `JSON.parse` gives it. The time is linear in the length of the text. {@link PartialJson} reads a text that grows.
 *
 * @returns `undefined` while the text has no value yet.
 * @throws GrammarError with code `GRAMMAR_SYNTAX`, line and column if no JSON text begins like this.
 */
export function partialJson(text: string): JsonValue | undefined {
  return new PartialJson().push(text).value;
}

/** What may come next, white space aside. */
type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end";

/** An array or object whose end has not come. `key` is the property whose value comes next. */
type Container =
  | { readonly closer: "]"; readonly items: JsonValue[] }
  | { readonly closer: "}"; readonly members: { [key: string]: JsonValue }; key: string };

const literals: Readonly<Record<string, readonly [word: string, value: JsonValue]>> = {
  t: ["true", true],
  f: ["false", false],
  n: ["null", null],
};
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/;
const numberPrefix = /^-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?$/;
const numberPart = /[-+.eE0-9]*/y;
const letters = /[a-z]*/y;
const whiteSpace = /[ \t\n\r]*/y;
/** Characters of a string that stand for themselves. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: strings have no control characters
const plainCharacters = /[^"\\\u0000-\u001f]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{0,4})?/y;

/** Reads a JSON text that arrives in pieces, each piece once. The values have the meaning of {@link partialJson}. */
export class PartialJson {
  /** What is read, for the places of errors. */
  #read = "";
  /** Text that is not read, since it may be the beginning of something longer. */
  #rest = "";
  #position = 0;
  #expected: Expected = "value";
  /** Open containers, outermost first. */
  readonly #open: Container[] = [];
  /** The whole characters of the string that is open. */
  #string: string | undefined;
  /** Half of a character at the end of that string. */
  #half = "";
  #isKey = false;
  /** The value of the whole text, once it has ended. */
  #value: JsonValue | undefined;

  /**
   * Adds text.
   * @throws GrammarError as {@link partialJson}; the text cannot go on then
   */
  push(text: string): this {
    if (typeof text !== "string") throw argumentError("partialJson", "a text", shown(text));
    this.#rest += text;
    this.#position = 0;
    while (this.#position < this.#rest.length && this.#scan());
    this.#read += this.#rest.slice(0, this.#position);
    this.#rest = this.#rest.slice(this.#position);
    return this;
  }

  /** The value so far. It has parts in common with earlier ones, so it must not be changed. */
  get value(): JsonValue | undefined {
    let value = this.#openValue();
    if (this.#open.length === 0) return value ?? this.#value;
    for (const container of this.#open.toReversed()) {
      if (container.closer === "]") value = value === undefined ? [...container.items] : [...container.items, value];
      else value = value === undefined ? { ...container.members } : { ...container.members, [container.key]: value };
    }
    return value;
  }

  /** The value that the text breaks off in, containers apart. */
  #openValue(): JsonValue | undefined {
    if (this.#string !== undefined) return this.#isKey ? undefined : this.#string;
    const literal = literals[this.#rest[0] ?? ""];
    if (literal !== undefined) return literal[1];
    const digits = this.#open.length === 0 ? number.exec(this.#rest)?.[0] : undefined;
    return digits === undefined ? undefined : Number(digits);
  }

  /** Reads on. Returns whether it came further: more text is needed otherwise. */
  #scan(): boolean {
    if (this.#string !== undefined) return this.#scanString();
    this.#match(whiteSpace);
    const character = this.#rest[this.#position];
    if (character === undefined) return false;
    const expected = this.#expected;
    const closer = this.#open.at(-1)?.closer;
    if (character === closer && (expected === "comma or end" || expected.endsWith(`or ${character}`))) this.#close();
    else if (expected === "comma or end" && character === "," && closer !== undefined) this.#pass(closer === "}" ? "key" : "value");
    else if (expected === "colon" && character === ":") this.#pass("value");
    else if (expected.startsWith("key") && character === '"') this.#openString(true);
    else if (expected.startsWith("value")) return this.#scanValue(character);
    else throw this.#error(this.#expectation(), this.#position);
    return true;
  }

  #expectation(): string {
    return this.#expected === "comma or end" && this.#open.length === 0 ? "the end" : this.#expected;
  }

  #pass(expected: Expected): void {
    this.#position++;
    this.#expected = expected;
  }

  #close(): void {
    this.#position++;
    const container = this.#open.pop();
    if (container === undefined) return;
    this.#add(container.closer === "]" ? container.items : container.members);
  }

  /** Adds a value that has ended to the innermost container. */
  #add(value: JsonValue): void {
    this.#expected = "comma or end";
    const container = this.#open.at(-1);
    if (container === undefined) this.#value = value;
    else if (container.closer === "]") container.items.push(value);
    // A property named __proto__ is one as well.
    else Object.defineProperty(container.members, container.key, { value, writable: true, enumerable: true, configurable: true });
  }

  #scanValue(character: string): boolean {
    if (character === "{") {
      this.#open.push({ closer: "}", members: {}, key: "" });
      this.#pass("key or }");
    } else if (character === "[") {
      this.#open.push({ closer: "]", items: [] });
      this.#pass("value or ]");
    } else if (character === '"') this.#openString(false);
    else if (character === "-" || (character >= "0" && character <= "9")) return this.#scanNumber();
    else return this.#scanLiteral(character);
    return true;
  }

  #openString(isKey: boolean): void {
    this.#position++;
    this.#string = "";
    this.#half = "";
    this.#isKey = isKey;
  }

  /** Reads on in a string: characters that stand for themselves, and then its end or an escape. */
  #scanString(): boolean {
    this.#append(this.#match(plainCharacters));
    const [start, character] = [this.#position, this.#rest[this.#position]];
    if (character === undefined) return false;
    if (character === '"') {
      this.#endString(this.#string + this.#half);
      return true;
    }
    if (character !== "\\") throw this.#error("an escape for a control character", start);
    const escaped = this.#match(escapeSequence);
    if (escaped.length === (escaped[1] === "u" ? 6 : 2)) {
      this.#append(JSON.parse(`"${escaped}"`));
      return true;
    }
    if (this.#position < this.#rest.length) throw this.#error("an escape of JSON", start);
    this.#position = start;
    return false;
  }

  #append(units: string): void {
    const text = this.#half + units;
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
    this.#string += text.slice(0, text.length - this.#half.length);
  }

  #endString(string: string): void {
    this.#position++;
    this.#string = undefined;
    if (!this.#isKey) {
      this.#add(string);
      return;
    }
    const container = this.#open.at(-1);
    if (container?.closer === "}") container.key = string;
    this.#expected = "colon";
  }

  #scanNumber(): boolean {
    const start = this.#position;
    const found = this.#match(numberPart);
    const isCut = this.#position === this.#rest.length;
    if (isCut ? !numberPrefix.test(found) : number.exec(found)?.[0] !== found) throw this.#error("a number of JSON", start);
    if (isCut) this.#position = start;
    else this.#add(Number(found));
    return !isCut;
  }

  #scanLiteral(character: string): boolean {
    const start = this.#position;
    const found = this.#match(letters);
    const [word, value] = literals[character] ?? [];
    if (word !== undefined && value !== undefined && found === word) {
      this.#add(value);
      return true;
    }
    if (!word?.startsWith(found) || this.#position < this.#rest.length) throw this.#error(this.#expected, start);
    this.#position = start;
    return false;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#rest)?.[0] ?? "";
    this.#position += found.length;
    return found;
  }

  #error(expected: string, position: number): GrammarError {
    const got = JSON.stringify(this.#rest.slice(position, position + 10));
    const place = { text: this.#read + this.#rest, index: this.#read.length + position };
    return sourceError("GRAMMAR_SYNTAX", `partialJson: expected ${expected}, got ${got}`, place);
  }
}
