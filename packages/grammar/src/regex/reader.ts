import type { Character, CharacterSet } from "./ast.ts";

const kinds: Readonly<Record<string, CharacterSet["kind"]>> = { d: "digit", s: "space", w: "word", p: "property" };
const controls: Readonly<Record<string, string>> = { t: "\t", n: "\n", v: "\v", f: "\f", r: "\r", 0: "\0" };

/** Reads what is the same within classes and outside: characters and escapes. The source is known to be valid. */
export class RegexReader {
  readonly source: string;
  position = 0;

  constructor(source: string) {
    this.source = source;
  }

  /** Passes `expected`, a text or a sticky pattern, and returns what it matched, or `undefined` if something else follows. */
  take(expected: string | RegExp): string | undefined {
    let found: string | undefined;
    if (typeof expected === "string") found = this.source.startsWith(expected, this.position) ? expected : undefined;
    else {
      expected.lastIndex = this.position;
      found = expected.exec(this.source)?.[0];
    }
    this.position += found?.length ?? 0;
    return found;
  }

  /** What all parts have: the text from `start` to the position. */
  since(start: number): { start: number; raw: string; asserts: false } {
    return { start, raw: this.source.slice(start, this.position), asserts: false };
  }

  /** A character, or an escape that stands for one or for a set. */
  characterOrSet(): Character | CharacterSet {
    const start = this.position;
    const letter = this.source[start + 1] ?? "";
    if (this.source[start] === "\\" && /[dswp]/i.test(letter)) {
      this.take(/\\[pP]\{[^}]*\}|\\./y);
      const kind = kinds[letter.toLowerCase()] as CharacterSet["kind"];
      return { type: "CharacterSet", kind, negate: letter < "a", ...this.since(start) };
    }
    const value = this.codePoint();
    return { type: "Character", value, ...this.since(start) };
  }

  /** The code point of a character or of its escape. */
  codePoint(): number {
    if (!this.take("\\")) return this.plain();
    const hexadecimal = this.take(
      /x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}/y,
    );
    if (hexadecimal !== undefined) return codePointOf(hexadecimal);
    const letter = this.take(/c[a-zA-Z]/y);
    if (letter !== undefined) return letter.charCodeAt(1) % 32;
    const control = controls[this.source[this.position] as string];
    if (control === undefined) return this.plain();
    this.position++;
    return control.charCodeAt(0);
  }

  plain(): number {
    const value = this.source.codePointAt(this.position) as number;
    this.position += value > 0xffff ? 2 : 1;
    return value;
  }
}

/** The code point of `xXX`, `uXXXX`, `u{X…}` or a surrogate pair `uXXXX\uXXXX`. */
function codePointOf(hexadecimal: string): number {
  const [first, second] = [...hexadecimal.matchAll(/[0-9a-fA-F]+/g)].map(([digits]) => Number.parseInt(digits, 16)) as [number, number?];
  return second === undefined ? first : (String.fromCharCode(first, second).codePointAt(0) as number);
}
