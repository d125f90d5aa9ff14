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
 * has the value that `JSON.parse` gives it. The time is linear in the length of the text.
 *
 * @returns `undefined` while the text has no value yet.
 * @throws GrammarError with code `GRAMMAR_SYNTAX`, line and column if no JSON text begins like this.
 */
export function partialJson(text: string): JsonValue | undefined {
  if (typeof text !== "string") throw argumentError("partialJson", "a text", shown(text));
  const completed = new PrefixScanner(text).complete();
  return completed === undefined ? undefined : JSON.parse(completed);
}

/** What may come next, white space aside. */
type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end";

const literals: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/;
const numberPrefix = /^-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?$/;
const numberPart = /[-+.eE0-9]*/y;
const letters = /[a-z]*/y;
const whiteSpace = /[ \t\n\r]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{0,4})?/y;
const [quote, backslash] = [0x22, 0x5c];

/** Finds the longest part of a beginning of a JSON text that can be completed, and what completes it. */
class PrefixScanner {
  /** The closing brackets of the open containers, outermost first. */
  readonly #closers: string[] = [];
  #expected: Expected = "value";
  #position = 0;
  /** `text` up to `end`, with the closers of `depth` containers, is a JSON text. */
  #end = 0;
  #depth = 0;
  /** Text that stands for what comes after `end`: the rest of a string or literal. */
  #rest = "";
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  complete(): string | undefined {
    for (this.#skip(whiteSpace); this.#position < this.#text.length; this.#skip(whiteSpace))
      this.#scanToken(this.#text[this.#position] as string);
    if (this.#end === 0 && this.#rest === "") return undefined;
    return this.#text.slice(0, this.#end) + this.#rest + this.#closers.slice(0, this.#depth).reverse().join("");
  }

  #scanToken(character: string): void {
    const expected = this.#expected;
    if (character === this.#closers.at(-1) && (expected === "comma or end" || expected.endsWith(`or ${character}`))) this.#close();
    else if (expected === "comma or end" && character === "," && this.#closers.length > 0)
      this.#pass(this.#closers.at(-1) === "}" ? "key" : "value");
    else if (expected === "colon" && character === ":") this.#pass("value");
    else if (expected.startsWith("key") && character === '"') this.#scanKey();
    else if (expected.startsWith("value")) this.#scanValue(character);
    else throw this.#error(this.#expectation(), this.#position);
  }

  #expectation(): string {
    return this.#expected === "comma or end" && this.#closers.length === 0 ? "the end" : this.#expected;
  }

  #pass(expected: Expected): void {
    this.#position++;
    this.#expected = expected;
  }

  #close(): void {
    this.#closers.pop();
    this.#position++;
    this.#endValue();
  }

  /** Takes note that a value ends here. */
  #endValue(): void {
    this.#expected = "comma or end";
    [this.#end, this.#depth] = [this.#position, this.#closers.length];
  }

  #scanValue(character: string): void {
    if (character === "{") this.#open("}", "key or }");
    else if (character === "[") this.#open("]", "value or ]");
    else if (character === '"') this.#scanString();
    else if (character === "-" || (character >= "0" && character <= "9")) this.#scanNumber();
    else this.#scanLiteral(character);
  }

  #open(closer: string, expected: Expected): void {
    this.#closers.push(closer);
    this.#position++;
    this.#endValue();
    this.#expected = expected;
  }

  #scanKey(): void {
    this.#skipString();
    this.#expected = "colon";
  }

  #scanString(): void {
    const [isClosed, whole] = this.#skipString();
    [this.#end, this.#depth] = [whole, this.#closers.length];
    if (!isClosed) this.#rest = '"';
    this.#expected = "comma or end";
  }

  /** Passes a string. Returns whether it is closed, and where its last whole character ends. */
  #skipString(): [isClosed: boolean, whole: number] {
    let whole = ++this.#position;
    while (this.#position < this.#text.length) {
      const unit = this.#scanUnit();
      if (unit === undefined) break;
      if (unit === "closed") return [true, this.#position];
      if (unit < 0xd800 || unit > 0xdbff) whole = this.#position;
    }
    this.#position = this.#text.length;
    return [false, whole];
  }

  /** Passes a UTF-16 unit of a string or its escape and returns the unit, or `undefined` if the text ends within an escape. */
  #scanUnit(): number | "closed" | undefined {
    const [text, position] = [this.#text, this.#position];
    const unit = text.charCodeAt(this.#position++);
    if (unit === quote) return "closed";
    if (unit < 0x20) throw this.#error("an escape for a control character", position);
    if (unit !== backslash) return unit;
    escapeSequence.lastIndex = position;
    const found = escapeSequence.exec(text)?.[0];
    if (found === undefined || (found.length < (found[1] === "u" ? 6 : 2) && position + found.length < text.length))
      throw this.#error("an escape of JSON", position);
    this.#position = position + found.length;
    if (found[1] !== "u") return found.length === 2 ? unit : undefined;
    return found.length === 6 ? Number.parseInt(found.slice(2), 16) : undefined;
  }

  #scanNumber(): void {
    const start = this.#position;
    this.#skip(numberPart);
    const found = this.#text.slice(start, this.#position);
    const complete = number.exec(found)?.[0] ?? "";
    const isCut = this.#position === this.#text.length;
    if (isCut ? !numberPrefix.test(found) : complete !== found) throw this.#error("a number of JSON", start);
    if (!isCut) this.#endValue();
    else if (this.#closers.length === 0 && complete !== "") this.#end = start + complete.length;
    this.#expected = "comma or end";
  }

  #scanLiteral(character: string): void {
    const [literal, start] = [literals[character], this.#position];
    this.#skip(letters);
    const found = this.#text.slice(start, this.#position);
    const isCut = this.#position === this.#text.length && literal?.startsWith(found);
    if (literal === undefined || (found !== literal && !isCut)) throw this.#error(this.#expected, start);
    this.#endValue();
    this.#rest = literal.slice(found.length);
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#position;
    this.#position += pattern.exec(this.#text)?.[0].length ?? 0;
  }

  #error(expected: string, position: number): GrammarError {
    const got = JSON.stringify(this.#text.slice(position, position + 10));
    return sourceError("GRAMMAR_SYNTAX", `partialJson: expected ${expected}, got ${got}`, { text: this.#text, index: position });
  }
}
