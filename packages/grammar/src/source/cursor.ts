import { type Budget, Meter } from "../budget.ts";
import { GrammarError, type GrammarErrorCode } from "../errors.ts";
import { type ErrorDetails, quoted, sourceError } from "./sourceError.ts";

/** Estimated memory of a rule, apart from its items. */
export const ruleBytes = 1000;
/** Estimated memory of an item of a rule. */
export const itemBytes = 100;
/** How deeply groups may be nested: parsers recurse that deep. */
const maxNesting = 250;

/** A position in the text of a grammar, and the errors that name such positions. */
export class Cursor {
  position = 0;
  readonly text: string;
  readonly #op: string;
  /** Counts the work and memory of the parser. */
  readonly meter: Meter;
  #depth = 0;

  /** @param op the function that the caller called, for messages. */
  constructor(op: string, text: string, budget?: Budget) {
    if (typeof text !== "string") throw new GrammarError("GRAMMAR_ARGUMENT", `${op}: expected a string, got ${typeof text}`);
    this.#op = op;
    this.text = text;
    this.meter = new Meter(budget);
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The next UTF-16 unit, or the empty text at the end. */
  get next(): string {
    return this.at(0);
  }

  /** The UTF-16 unit `offset` units after the position, or the empty text past the end. */
  at(offset: number): string {
    return this.text[this.position + offset] ?? "";
  }

  /** Passes `expected`, a text or a sticky pattern, and returns what it matched, or returns `undefined` and stays. */
  take(expected: string | RegExp): string | undefined {
    let found: string | undefined;
    if (typeof expected === "string") found = this.text.startsWith(expected, this.position) ? expected : undefined;
    else {
      expected.lastIndex = this.position;
      found = expected.exec(this.text)?.[0];
    }
    if (found !== undefined) this.position += found.length;
    return found;
  }

  /** Passes what matches a sticky pattern, if anything does. */
  skip(pattern: RegExp): void {
    this.take(pattern);
  }

  takeCodePoint(): number {
    const codePoint = this.text.codePointAt(this.position);
    if (codePoint === undefined) throw this.error("a character");
    this.position += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  /** Like {@link take}. @throws GrammarError `GRAMMAR_SYNTAX` with `description` if something else follows. */
  expect(expected: string | RegExp, description: string): string {
    const found = this.take(expected);
    if (found === undefined) throw this.error(description);
    return found;
  }

  /**
   * Passes a text between two delimiters, in which a backslash escapes the next character, and returns it with the delimiters.
   *
   * @throws GrammarError `GRAMMAR_SYNTAX` if the second delimiter is missing
   */
  takeDelimited(delimiter: string): string {
    const start = this.position;
    for (let i = start + 1; i < this.text.length; i++) {
      if (this.text[i] === "\\") i++;
      else if (this.text[i] === delimiter) {
        this.position = i + 1;
        return this.text.slice(start, this.position);
      }
    }
    throw this.error(`a closing ${delimiter}`);
  }

  /** Passes an object in JSON, found by its braces, and returns its text. @throws GrammarError `GRAMMAR_SYNTAX` if it does not end */
  takeBraces(): string {
    const start = this.position;
    this.expect("{", "a JSON object");
    for (let depth = 1; depth > 0; ) {
      this.skip(/[^{}"]*/y);
      if (this.isAtEnd) throw this.error("a closing }", start);
      if (this.next === '"') this.takeDelimited('"');
      else depth += this.text[this.position++] === "{" ? 1 : -1;
    }
    return this.text.slice(start, this.position);
  }

  /** Whether the position is within what {@link nested} parses. */
  get isNested(): boolean {
    return this.#depth > 0;
  }

  /** Parses something that can contain itself. @throws GrammarError `GRAMMAR_BUDGET` if that is nested too deeply. */
  nested<T>(parse: () => T): T {
    if (++this.#depth > maxNesting)
      throw this.failure("GRAMMAR_BUDGET", `expected at most ${maxNesting} groups within one another, got more`, this.position);
    const result = parse();
    this.#depth--;
    return result;
  }

  /** The error for text that does not fit the notation. */
  error(expected: string, position: number = this.position): GrammarError {
    const got = position >= this.text.length ? "the end" : quoted(this.text.slice(position).split(/[\r\n]/)[0] as string);
    return this.failure("GRAMMAR_SYNTAX", `expected ${expected}, got ${got}`, position);
  }

  undefinedRule(name: string, position: number): GrammarError {
    return this.failure("GRAMMAR_REFERENCE", `expected a definition of ${name}, got none`, position, { keyword: name });
  }

  /** The error for a valid construct that cannot be enforced. */
  unsupported(construct: string, position: number, advice?: string): GrammarError {
    return this.failure("GRAMMAR_UNSUPPORTED", `expected no ${construct}, got one`, position, {
      keyword: construct,
      ...(advice && { advice }),
    });
  }

  /** Runs `read` on a part of the text that starts at `position`. Errors of it get that place. */
  within<T>(position: number, part: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
      const { code, message, keyword, pointer, reason } = error;
      const details = Object.fromEntries(Object.entries({ keyword, pointer, reason }).filter(([, value]) => value !== undefined));
      throw this.failure(code, `${message.replace(/^\w+: /, "")} of the ${part}`, position, details);
    }
  }

  failure(code: GrammarErrorCode, problem: string, position: number, details: ErrorDetails = {}): GrammarError {
    return sourceError(code, `${this.#op}: ${problem}`, { text: this.text, index: position, ...details });
  }
}
