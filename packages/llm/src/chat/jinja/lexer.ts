import { SyntaxFault } from "./errors.ts";

/** A piece of a template's source. `at` is its offset. */
export interface Token {
  readonly type:
    | "text"
    | "blockStart"
    | "blockEnd"
    | "outputStart"
    | "outputEnd"
    | "name"
    | "integer"
    | "float"
    | "string"
    | "operator"
    | "end";
  /** The token's text. For strings, the value without quotes and escapes. */
  readonly text: string;
  readonly at: number;
}

const tagStart = /\{[{%#]/g;
const rawStart = /\{%[-+]?\s*raw\s*([-+]?)%\}/y;
const rawEnd = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;
const space = /\s+/y;
const name = /[\p{L}_][\p{L}\p{N}_]*/uy;
const integer = /\d[\d_]*/y;
const float = /\d[\d_]*(?:\.\d[\d_]*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)/y;
const operator = /\*\*|\/\/|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,]/y;
const closers: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", a: "\x07", "\n": "" };

/**
 * Splits a template into tokens, with Jinja's `trim_blocks` and `lstrip_blocks` on, as in transformers: the line feed after a block and white
 * space between the start of a line and a block are dropped.
 * @throws {SyntaxFault}
 */
export function tokenize(source: string): Token[] {
  return new Lexer(source).run();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source.endsWith("\n") ? source.slice(0, -1) : source;
  }

  run(): Token[] {
    while (this.#at < this.#source.length) {
      tagStart.lastIndex = this.#at;
      const start = tagStart.exec(this.#source)?.index ?? this.#source.length;
      this.#text(start);
      this.#at = start;
      if (start === this.#source.length) break;
      rawStart.lastIndex = start;
      const raw = rawStart.exec(this.#source);
      if (raw !== null) this.#raw(start + raw[0].length, raw[1] ?? "");
      else if (this.#source[start + 1] === "#") this.#comment(start);
      else this.#tag(this.#source[start + 1] === "%");
    }
    this.#push("end", "", this.#source.length);
    return this.#tokens;
  }

  #push(type: Token["type"], text: string, at: number): void {
    this.#tokens.push({ type, text, at });
  }

  /** Adds the text up to the tag at `end`, without the white space that the tag strips. */
  #text(end: number): void {
    let text = this.#source.slice(this.#at, end);
    const sign = this.#source[end + 2];
    if (end < this.#source.length && sign === "-") text = text.trimEnd();
    else if (end < this.#source.length && sign !== "+" && this.#source[end + 1] !== "{") {
      const line = text.lastIndexOf("\n") + 1;
      const beginsLine = line > 0 || this.#at === 0 || this.#source[this.#at - 1] === "\n";
      if (beginsLine && text.slice(line).trim() === "") text = text.slice(0, line);
    }
    if (text !== "") this.#push("text", text, this.#at);
  }

  /** Continues after a tag that ended at `end`, past the white space that it strips. */
  #leave(end: number, sign: string, trimsLine: boolean): void {
    this.#at = end;
    if (sign === "-") this.#match(space);
    else if (trimsLine && sign !== "+" && this.#source[end] === "\n") this.#at++;
  }

  #comment(start: number): void {
    const end = this.#source.indexOf("#}", start + 2);
    if (end < 0) throw new SyntaxFault('expected "#}" after a comment, got the end of the template', start);
    this.#leave(end + 2, end > start + 2 ? this.#source.charAt(end - 1) : "", true);
  }

  #raw(start: number, sign: string): void {
    rawEnd.lastIndex = start;
    const end = rawEnd.exec(this.#source);
    if (end === null) throw new SyntaxFault('expected "{% endraw %}", got the end of the template', start);
    this.#leave(start, sign, false);
    const text = this.#source.slice(this.#at, end.index);
    this.#push("text", end[1] === "-" ? text.trimEnd() : text, this.#at);
    this.#leave(end.index + end[0].length, end[2] ?? "", true);
  }

  /** Tokens of a block or an output. */
  #tag(isBlock: boolean): void {
    const start = this.#at;
    this.#push(isBlock ? "blockStart" : "outputStart", "", start);
    this.#at += 2;
    if (this.#source[this.#at] === "-" || this.#source[this.#at] === "+") this.#at++;
    const end = isBlock ? /([-+]?)%\}/y : /(-?)\}\}/y;
    const open: string[] = [];
    for (;;) {
      this.#match(space);
      if (this.#at >= this.#source.length) throw new SyntaxFault(`expected "${isBlock ? "%}" : "}}"}", got the end of the template`, start);
      end.lastIndex = this.#at;
      const closing = open.length === 0 ? end.exec(this.#source) : null;
      if (closing !== null) {
        this.#push(isBlock ? "blockEnd" : "outputEnd", "", this.#at);
        this.#leave(this.#at + closing[0].length, closing[1] ?? "", isBlock);
        return;
      }
      this.#token(open);
    }
  }

  /** @param open brackets that are not closed yet */
  #token(open: string[]): void {
    const at = this.#at;
    const char = this.#source.charAt(at);
    if (char === '"' || char === "'") {
      this.#string(char);
      return;
    }
    const previous = this.#tokens.at(-1);
    const isMember = previous?.text === "." && previous.type === "operator";
    for (const [type, pattern] of [
      ["float", float],
      ["integer", integer],
      ["name", name],
      ["operator", operator],
    ] as const) {
      if (type === "float" && isMember) continue;
      const text = this.#match(pattern);
      if (text === "") continue;
      this.#push(type, text, at);
      if (type !== "operator") return;
      if (closers[text] !== undefined) open.push(closers[text]);
      else if (text === ")" || text === "]" || text === "}") {
        const expected = open.pop();
        if (expected !== text) throw new SyntaxFault(`unexpected "${text}"${expected === undefined ? "" : `, expected "${expected}"`}`, at);
      }
      return;
    }
    throw new SyntaxFault(`unexpected character ${JSON.stringify(String.fromCodePoint(this.#source.codePointAt(at) ?? 0))}`, at);
  }

  #string(quote: string): void {
    const start = this.#at;
    let end = start + 1;
    while (this.#source[end] !== quote) {
      if (end >= this.#source.length) throw new SyntaxFault(`expected ${quote} after a string, got the end of the template`, start);
      end += this.#source[end] === "\\" ? 2 : 1;
    }
    this.#at = end + 1;
    this.#push("string", withoutEscapes(this.#source.slice(start + 1, end)), start);
  }

  /** Consumes the match of a sticky pattern at the current position, if any. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0] ?? "";
    this.#at += text.length;
    return text;
  }
}

/** Replaces escapes as Python does. A backslash before any other character stays. */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gs, (whole, x, u, U, char: string) => {
    const code = x ?? u ?? U;
    if (code === undefined) return escapes[char] ?? (char === "\\" || char === "'" || char === '"' ? char : whole);
    const point = Number.parseInt(code, 16);
    return point > 0x10ffff ? whole : String.fromCodePoint(point);
  });
}
