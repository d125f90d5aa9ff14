import { type Cursor, itemBytes } from "../source/cursor.ts";
import type { Node } from "./syntax.ts";

export const ruleName: RegExp = /_?[a-z][_a-z0-9-]*/y;
export const terminalName: RegExp = /_?[A-Z][_A-Z0-9-]*/y;
const space = /(?:[ \t]|(?:#|\/\/)[^\n]*)*/y;
const spaceAndLines = /(?:[ \t\r\n]|(?:#|\/\/)[^\n]*)*/y;
const count = /[0-9]+/y;
const maxCount = 2 ** 31 - 1;

/** Parses the right sides of rules and terminals. */
export class LarkItemParser {
  protected readonly cursor: Cursor;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  /** Passes blanks and comments within a line; between parentheses lines may end anywhere. */
  protected skipSpace(): void {
    this.cursor.skip(this.cursor.isNested ? spaceAndLines : space);
  }

  protected skipLines(): void {
    this.cursor.skip(spaceAndLines);
  }

  protected alternatives(): Node {
    const at = this.cursor.position;
    const items = [this.#conjunction()];
    while (this.#takeBar()) items.push(this.#conjunction());
    return items.length === 1 ? (items[0] as Node) : { kind: "choice", items, at };
  }

  /** Passes a `|`, which may be the first item of a later line. */
  #takeBar(): boolean {
    const { cursor } = this;
    const start = cursor.position;
    this.skipLines();
    if (cursor.take("|")) return true;
    cursor.position = start;
    return false;
  }

  #conjunction(): Node {
    const { cursor } = this;
    const at = cursor.position;
    const items = [this.#sequence()];
    while (cursor.take("&")) items.push(this.#sequence());
    const alias = cursor.position;
    if (cursor.take("->")) {
      // Names of nodes in a parse tree: no text depends on them.
      this.skipSpace();
      cursor.expect(ruleName, "a name after ->");
      this.skipSpace();
      if (cursor.take("&")) throw cursor.error("the end of an alternative after ->", alias);
    }
    if (cursor.next === "%" && cursor.take("%if")) throw cursor.unsupported("parametric rule", alias);
    return items.length === 1 ? (items[0] as Node) : { kind: "and", items, at };
  }

  #sequence(): Node {
    const at = this.cursor.position;
    const items: Node[] = [];
    for (this.skipSpace(); !this.#isAtEndOfSequence(); this.skipSpace()) {
      this.cursor.meter.charge(itemBytes);
      items.push(this.#repeated());
    }
    return items.length === 1 ? (items[0] as Node) : { kind: "sequence", items, at };
  }

  #isAtEndOfSequence(): boolean {
    const { cursor } = this;
    return (
      /^[|&)\]\r\n]?$/.test(cursor.next) || (cursor.next === "-" && cursor.at(1) === ">") || (cursor.next === "%" && cursor.at(1) === "i")
    );
  }

  #repeated(): Node {
    const { cursor } = this;
    const at = cursor.position;
    const item = this.#atom();
    this.skipSpace();
    if (cursor.take("*")) return { kind: "repeat", item, min: 0, max: Infinity, at };
    if (cursor.take("+")) return { kind: "repeat", item, min: 1, max: Infinity, at };
    if (cursor.take("?")) return { kind: "repeat", item, min: 0, max: 1, at };
    const counted = cursor.position;
    if (cursor.take("{")) return { kind: "repeat", item, ...this.#counts("}", counted), at };
    if (cursor.take(/~(?=[ \t]*[0-9])/y)) return { kind: "repeat", item, ...this.#counts("", counted), at };
    return item;
  }

  /** The rest of `{M,N}`, `{M,}`, `{,N}`, `{N}`, `~N` or `~M..N`. */
  #counts(end: "}" | "", start: number): { min: number; max: number } {
    const { cursor } = this;
    this.skipSpace();
    const first = cursor.take(count);
    this.skipSpace();
    let [min, max] = [Number(first ?? 0), Number(first)];
    if (cursor.take(end === "" ? ".." : ",")) {
      this.skipSpace();
      const last = cursor.take(count);
      this.skipSpace();
      if (first === undefined && last === undefined) throw cursor.error("a whole number");
      max = Number(last ?? Infinity);
    } else if (first === undefined) throw cursor.error("a whole number or ,");
    cursor.expect(end, "a closing }");
    if (min > max || min > maxCount) throw cursor.error(`counts of at most ${maxCount} in ascending order`, start);
    return { min, max: max > maxCount ? Infinity : max };
  }

  #atom(): Node {
    const { cursor } = this;
    const at = cursor.position;
    if (cursor.take("~")) {
      this.skipSpace();
      return { kind: "not", item: cursor.nested(() => this.#atom()), at };
    }
    if (cursor.next === "(") return this.#group(")");
    if (cursor.next === "[") return { kind: "repeat", item: this.#group("]"), min: 0, max: 1, at };
    return this.value();
  }

  #group(end: ")" | "]"): Node {
    const { cursor } = this;
    const start = cursor.position;
    return cursor.nested(() => {
      cursor.position++;
      const body = this.alternatives();
      if (!cursor.take(end)) throw cursor.error(`an item, | or a closing ${end}`, cursor.isAtEnd ? start : cursor.position);
      return body;
    });
  }

  /** A name, text, regular expression, schema or structured regular expression. */
  protected value(): Node {
    const { cursor } = this;
    const at = cursor.position;
    if (cursor.next === '"') return this.#textOrRange();
    if (cursor.next === "/") return this.#regex();
    if (cursor.take("%json")) return { kind: "json", schema: this.jsonObject(), at };
    if (cursor.take("%regex")) return { kind: "substring", chunks: this.#substringChunks(at), at };
    if (cursor.take("%lark")) throw cursor.unsupported("nested grammar", at);
    if (cursor.next === "<") throw cursor.unsupported("token reference", at, "write the text that the token stands for");
    if (cursor.next === "@") throw cursor.unsupported("reference to another grammar", at);
    const name = cursor.take(terminalName) ?? cursor.expect(ruleName, "an item");
    if (cursor.next === "{" && !/^\{[ \t]*[0-9,]/.test(cursor.text.slice(cursor.position, cursor.position + 20)))
      throw cursor.unsupported("template", at);
    if (cursor.take("::")) throw cursor.unsupported("parametric rule", at);
    return { kind: "name", name, at };
  }

  #textOrRange(): Node {
    const { cursor } = this;
    const at = cursor.position;
    const text = this.#string();
    if (!cursor.take("..")) return { kind: "text", text, ignoresCase: cursor.take("i") !== undefined, at };
    if (cursor.next !== '"') throw cursor.error("the last character of a range");
    const ends = [text, this.#string()];
    const [first, last] = ends.map((end) => end.codePointAt(0) ?? 0) as [number, number];
    if (ends.some((end) => [...end].length !== 1) || last < first) throw cursor.error("two characters in ascending order", at);
    return { kind: "range", first, last, at };
  }

  /** A string with the escapes of JSON and `\xXX`. */
  #string(): string {
    const { cursor } = this;
    const at = cursor.position;
    const raw = cursor.takeDelimited('"');
    let value: unknown;
    try {
      value = JSON.parse(raw.replace(/\\(?:x([0-9a-fA-F]{2})|.)/gs, (all, hex) => (hex === undefined ? all : `\\u00${hex}`)));
    } catch {
      throw cursor.error("a string with escapes of JSON", at);
    }
    if (/\p{Surrogate}/u.test(value as string)) throw cursor.error("whole characters; half of a surrogate pair has no UTF-8", at);
    return value as string;
  }

  #regex(): Node {
    const { cursor } = this;
    const at = cursor.position;
    const source = cursor.takeDelimited("/").slice(1, -1);
    const flags = cursor.take(/[a-zA-Z]*/y) as string;
    if (/[^imsu]/.test(flags)) throw cursor.unsupported(`flag ${/[^imsu]/.exec(flags)?.[0]}`, at);
    return { kind: "regex", source, flags, at };
  }

  #substringChunks(at: number): readonly string[] {
    const { cursor } = this;
    const fields = Object.entries(this.jsonObject());
    const [kind, value] = fields[0] ?? [];
    if (fields.length === 1 && kind === "substring_chunks" && Array.isArray(value) && value.every((chunk) => typeof chunk === "string"))
      return value;
    if (fields.length === 1 && kind === "substring_chars" && typeof value === "string") return [...value];
    if (fields.length === 1 && kind === "substring_words" && typeof value === "string")
      return value.match(/\p{White_Space}+|[\p{Alphabetic}\p{N}_]+|[^\p{White_Space}\p{Alphabetic}\p{N}_]+/gu) ?? [];
    throw cursor.unsupported("kind of %regex", at, "substring_chunks, substring_words and substring_chars are supported, one at a time");
  }

  /** A JSON object in the text of the grammar. */
  protected jsonObject(): Record<string, unknown> {
    const { cursor } = this;
    this.skipSpace();
    const at = cursor.position;
    const text = cursor.takeBraces();
    try {
      return JSON.parse(text);
    } catch (error) {
      throw cursor.error(`a JSON object (${error instanceof Error ? error.message : error})`, at);
    }
  }
}
