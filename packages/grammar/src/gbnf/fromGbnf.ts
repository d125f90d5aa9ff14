import type { Budget } from "../budget.ts";
import { objectOf } from "../checks.ts";
import { anyCodePoint, choice, codePoints, optional, reference, repeat, sequence, text } from "../expression/builders.ts";
import { inlineRegularRules } from "../expression/inline.ts";
import type { Expression, Grammar, Range } from "../expression/types.ts";
import { codePointSet, complementOf } from "../regex/codePointSet.ts";
import { Cursor, itemBytes, ruleBytes } from "../source/cursor.ts";

/**
 * The grammar that a text in GBNF, llama.cpp's notation, describes. `root` is the rule to start with. Left recursion is allowed.
 *
 * References to tokens (`<think>`, `<[1000]>`, `!<think>`) are refused: grammars describe text, and special tokens have none. Counts such as
 * `{0,5000}` are exact, where llama.cpp takes a maximum above 2000 for no limit.
 *
 * @throws GrammarError with `line` and `column`. Codes: `GRAMMAR_SYNTAX`; `GRAMMAR_REFERENCE` for a rule that is used or needed and not
 * defined; `GRAMMAR_UNSUPPORTED` with `keyword`; `GRAMMAR_BUDGET`, also for more than 250 parentheses within one another.
 */
export function fromGbnf(source: string, options: { budget?: Budget } = {}): Grammar {
  const { budget } = objectOf("fromGbnf", "options { budget }", options);
  const parser = new GbnfParser(source, budget);
  return inlineRegularRules(parser.parse(), parser.cursor.meter);
}

const name = /[a-zA-Z0-9_-]+/y;
const space = /(?:[ \t]|#[^\r\n]*)*/y;
const spaceAndLines = /(?:[ \t\r\n]|#[^\r\n]*)*/y;
const lineEnd = /\r\n|[\r\n]|$/y;
const count = /[0-9]+/y;
const classEscapes: Readonly<Record<string, string>> = { t: "\t", r: "\r", n: "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-" };
const hexLengths: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

class GbnfParser {
  readonly cursor: Cursor;
  readonly #rules = new Map<string, Expression>();
  /** Where a rule is first referred to. */
  readonly #uses = new Map<string, number>();

  constructor(source: string, budget: Budget | undefined) {
    this.cursor = new Cursor("fromGbnf", source, budget);
  }

  parse(): Grammar {
    const { cursor } = this;
    cursor.skip(spaceAndLines);
    while (!cursor.isAtEnd) this.#rule();
    for (const [used, position] of this.#uses) if (!this.#rules.has(used)) throw cursor.undefinedRule(used, position);
    if (!this.#rules.has("root")) throw cursor.undefinedRule("root", 0);
    return { start: reference("root"), rules: Object.fromEntries(this.#rules) };
  }

  #rule(): void {
    const { cursor } = this;
    const start = cursor.position;
    const defined = cursor.expect(name, "the name of a rule; a line goes on after | or within parentheses alone");
    cursor.skip(space);
    cursor.expect("::=", "::=");
    cursor.skip(spaceAndLines);
    const body = this.#alternatives(false);
    cursor.expect(lineEnd, "an item, | or the end of the line");
    cursor.skip(spaceAndLines);
    cursor.meter.charge(ruleBytes);
    if (this.#rules.has(defined)) throw cursor.error(`one definition of the rule ${defined}`, start);
    this.#rules.set(defined, body);
  }

  #alternatives(isNested: boolean): Expression {
    const items = [this.#sequence(isNested)];
    while (this.cursor.take("|")) {
      this.cursor.skip(spaceAndLines);
      items.push(this.#sequence(isNested));
    }
    return choice(items);
  }

  #sequence(isNested: boolean): Expression {
    const items: Expression[] = [];
    for (;;) {
      const item = this.#item();
      this.cursor.meter.charge(itemBytes);
      if (item === undefined) return sequence(items);
      this.cursor.skip(isNested ? spaceAndLines : space);
      items.push(this.#repeated(item, isNested));
    }
  }

  #item(): Expression | undefined {
    const { cursor } = this;
    const start = cursor.position;
    switch (cursor.next) {
      case '"':
        return this.#literal();
      case "[":
        return this.#class();
      case "(":
        return this.#group();
      case "<":
      case "!":
        throw cursor.unsupported("token reference", start, "write the text that the token stands for");
    }
    if (cursor.take(".")) return anyCodePoint;
    const used = cursor.take(name);
    if (used === undefined) return undefined;
    if (!this.#uses.has(used)) this.#uses.set(used, start);
    return reference(used);
  }

  #literal(): Expression {
    const { cursor } = this;
    const start = cursor.position;
    cursor.take('"');
    let value = "";
    while (!cursor.take('"')) {
      if (cursor.isAtEnd) throw cursor.error('a closing "', start);
      const position = cursor.position;
      const codePoint = this.#character();
      if (codePoint >= 0xd800 && codePoint <= 0xdfff)
        throw cursor.error("a whole character; half of a surrogate pair has no UTF-8", position);
      value += String.fromCodePoint(codePoint);
    }
    return text(value);
  }

  #class(): Expression {
    const { cursor } = this;
    const start = cursor.position;
    cursor.take("[");
    const isNegated = cursor.take("^") !== undefined;
    const ranges: Range[] = [];
    while (!cursor.take("]")) {
      if (cursor.isAtEnd) throw cursor.error("a closing ]", start);
      ranges.push(this.#range());
      cursor.meter.charge(itemBytes);
    }
    if (ranges.length === 0) throw cursor.error("a character between the brackets", start);
    return codePoints(isNegated ? complementOf(codePointSet(ranges)) : ranges);
  }

  #range(): Range {
    const { cursor } = this;
    const start = cursor.position;
    const first = this.#character();
    if (cursor.next !== "-" || cursor.at(1) === "]") return [first, first];
    cursor.take("-");
    if (cursor.isAtEnd) throw cursor.error("the last character of a range");
    const last = this.#character();
    if (last < first) throw cursor.error("a range that does not end before it starts", start);
    return [first, last];
  }

  /** A character or escape of a literal or class, as a code point. */
  #character(): number {
    const { cursor } = this;
    const start = cursor.position;
    if (!cursor.take("\\")) return cursor.takeCodePoint();
    const escaped = cursor.take(/./suy) ?? "";
    const value = Object.hasOwn(classEscapes, escaped) ? classEscapes[escaped]?.codePointAt(0) : this.#hexadecimal(escaped);
    if (value === undefined || value > 0x10ffff)
      throw cursor.error('one of the escapes \\" \\\\ \\[ \\] \\- \\n \\r \\t \\xXX \\uXXXX \\UXXXXXXXX, at most \\U0010FFFF', start);
    return value;
  }

  #hexadecimal(letter: string): number | undefined {
    if (!Object.hasOwn(hexLengths, letter)) return undefined;
    const digits = this.cursor.take(new RegExp(`[0-9a-fA-F]{${hexLengths[letter]}}`, "y"));
    return digits === undefined ? undefined : Number.parseInt(digits, 16);
  }

  #group(): Expression {
    const { cursor } = this;
    return cursor.nested(() => {
      const start = cursor.position;
      cursor.take("(");
      cursor.skip(spaceAndLines);
      const body = this.#alternatives(true);
      if (!cursor.take(")")) throw cursor.error("an item, | or a ) for the ( before it", cursor.isAtEnd ? start : undefined);
      return body;
    });
  }

  /** The item with the repetitions that follow it. */
  #repeated(item: Expression, isNested: boolean): Expression {
    const { cursor } = this;
    const white = isNested ? spaceAndLines : space;
    let result = item;
    for (;;) {
      if (cursor.take("*")) result = repeat(result, 0, Infinity);
      else if (cursor.take("+")) result = repeat(result, 1, Infinity);
      else if (cursor.take("?")) result = optional(result);
      else if (cursor.next === "{") result = this.#counted(result, white);
      else return result;
      cursor.skip(white);
    }
  }

  #counted(item: Expression, white: RegExp): Expression {
    const { cursor } = this;
    const start = cursor.position;
    cursor.take("{");
    cursor.skip(white);
    const min = Number(cursor.expect(count, "a whole number"));
    cursor.skip(white);
    let max = min;
    if (cursor.take(",")) {
      cursor.skip(white);
      max = Number(cursor.take(count) ?? Infinity);
      cursor.skip(white);
    }
    cursor.expect("}", "a closing }");
    if (min > max || !Number.isSafeInteger(min) || (max !== Infinity && !Number.isSafeInteger(max)))
      throw cursor.error("{min,max} with min at most max", start);
    return repeat(item, min, max);
  }
}
