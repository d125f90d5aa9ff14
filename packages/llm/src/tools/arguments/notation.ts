/** Deepest nesting of values. */
const maxDepth = 200;

const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null, True: true, False: false, None: null };
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", "0": "\0" };
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[A-Za-z]+/y;
const key = /[^\s:={}[\](),'"<>]+/y;
const space = /\s*/y;
/** Quotation marks of Gemma. Nothing is escaped between them. */
const gemmaQuote = '<|"|>';

/** A value in the notation of Python, or of Gemma: with names of keys without quotation marks. Undefined if the text is none. */
export function parseNotation(text: string, notation: "python" | "gemma"): unknown {
  const parser = new NotationParser(text, notation);
  const value = parser.value(0);
  return value !== failed && parser.isAtEnd() ? value : undefined;
}

/** Keyword arguments, such as `a=1, b='x'` or `a:1,b:<|"|>x<|"|>`. Undefined if the text is none. */
export function parseArguments(text: string, notation: "python" | "gemma"): Record<string, unknown> | undefined {
  const parser = new NotationParser(text, notation);
  const members = parser.members(notation === "python" ? "=" : ":", "", 0);
  return members !== failed && parser.isAtEnd() ? members : undefined;
}

const failed: unique symbol = Symbol("failed");

class NotationParser {
  readonly #text: string;
  readonly #notation: "python" | "gemma";
  #at = 0;

  constructor(text: string, notation: "python" | "gemma") {
    this.#text = text;
    this.#notation = notation;
  }

  isAtEnd(): boolean {
    this.#match(space);
    return this.#at === this.#text.length;
  }

  value(depth: number): unknown {
    this.#match(space);
    if (depth > maxDepth) return failed;
    if (this.#take("[")) return this.#list(depth);
    if (this.#take("{")) return this.members(":", "}", depth);
    const string = this.#string();
    if (string !== undefined) return string;
    const digits = this.#match(number);
    if (digits) return Number(digits);
    const name = this.#match(word);
    return name !== undefined && Object.hasOwn(words, name) ? words[name] : failed;
  }

  /** Keys and values up to `end`, or up to the end of the text. */
  members(assign: string, end: string, depth: number): Record<string, unknown> | typeof failed {
    const members: [string, unknown][] = [];
    for (;;) {
      this.#match(space);
      if (end === "" ? this.#at === this.#text.length : this.#take(end)) return Object.fromEntries(members);
      if (members.length > 0 && !this.#take(",")) return failed;
      this.#match(space);
      const name = this.#string() ?? this.#match(key);
      this.#match(space);
      if (!name || !this.#take(assign)) return failed;
      const value = this.value(depth + 1);
      if (value === failed) return failed;
      members.push([name, value]);
    }
  }

  #list(depth: number): unknown {
    const items: unknown[] = [];
    for (;;) {
      this.#match(space);
      if (this.#take("]")) return items;
      if (items.length > 0 && !this.#take(",")) return failed;
      const value = this.value(depth + 1);
      if (value === failed) return failed;
      items.push(value);
    }
  }

  #string(): string | undefined {
    const text = this.#text;
    if (this.#notation === "gemma") {
      if (!text.startsWith(gemmaQuote, this.#at)) return undefined;
      const start = this.#at + gemmaQuote.length;
      const end = text.indexOf(gemmaQuote, start);
      if (end < 0) return undefined;
      this.#at = end + gemmaQuote.length;
      return text.slice(start, end);
    }
    const quote = text[this.#at];
    if (quote !== "'" && quote !== '"') return undefined;
    let string = "";
    for (let at = this.#at + 1; at < text.length; at++) {
      if (text[at] === quote) {
        this.#at = at + 1;
        return string;
      }
      if (text[at] !== "\\") {
        string += text[at];
        continue;
      }
      const [character, length] = escapeAt(text, at + 1);
      string += character;
      at += length;
    }
    return undefined;
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}

/** The character that an escape stands for, and the length of the escape without its backslash. */
function escapeAt(text: string, at: number): readonly [character: string, length: number] {
  const letter = text[at] ?? "";
  const digits = { x: 2, u: 4, U: 8 }[letter];
  const hex = digits === undefined ? "" : text.slice(at + 1, at + 1 + digits);
  if (digits !== undefined && hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
    const codePoint = Number.parseInt(hex, 16);
    if (codePoint <= 0x10ffff) return [String.fromCodePoint(codePoint), 1 + digits];
  }
  // Python keeps the backslash of an escape that it does not know.
  return [escapes[letter] ?? (letter === "\\" || letter === "'" || letter === '"' ? letter : `\\${letter}`), 1];
}
