import type { Alternative, Assertion, Element, Modifiers, Pattern } from "./ast.ts";
import { ClassParser } from "./classParser.ts";
import type { Dialect } from "./dialect.ts";
import { refuse } from "./refuse.ts";

/**
 * Parses an expression that `RegExp` accepts with flag `u` or `v`, so that it need not check the syntax. Groups are only grouping:
 * lookaround and backreferences are refused.
 */
export class RegexParser extends ClassParser {
  readonly #dialect: Dialect;

  constructor(source: string, unicodeSets: boolean, dialect: Dialect) {
    super(source, unicodeSets);
    this.#dialect = dialect;
  }

  pattern(): Pattern {
    const alternatives = this.#alternatives();
    return { type: "Pattern", alternatives, start: 0, raw: this.source, asserts: alternatives.some(({ asserts }) => asserts) };
  }

  #alternatives(): Alternative[] {
    const alternatives = [this.#alternative()];
    while (this.take("|")) alternatives.push(this.#alternative());
    return alternatives;
  }

  #alternative(): Alternative {
    const elements: Element[] = [];
    while (this.position < this.source.length && !/[|)]/.test(this.source[this.position] as string)) elements.push(this.#quantified());
    return { elements, asserts: elements.some(({ asserts }) => asserts) };
  }

  #quantified(): Element {
    const element = this.#checked(this.#atom());
    const found = this.take(/[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??/y);
    if (found === undefined) return element;
    const [min, max] = countsOf(found);
    const { start, raw } = this.since(element.start);
    return this.#checked({ type: "Quantifier", element, min, max, greedy: !/.\?$/.test(found), start, raw, asserts: element.asserts });
  }

  /** The element, unless the dialect does not have it. */
  #checked(element: Element): Element {
    const refused = this.#dialect.refused?.(element);
    return refused === undefined ? element : refuse(refused, element);
  }

  #atom(): Element {
    const start = this.position;
    switch (this.source[start]) {
      case "^":
        return this.#assertion(this.position++, "start", false);
      case "$":
        return this.#assertion(this.position++, "end", false);
      case "(":
        return this.#group(start);
      case "[":
        return this.class();
      case ".":
        this.position++;
        return { type: "CharacterSet", kind: "any", negate: false, ...this.since(start) };
    }
    const boundary = this.take(/\\[bB]/y);
    if (boundary !== undefined) return this.#assertion(start, "word", boundary === "\\B");
    if (this.take(/\\(?:[1-9][0-9]*|k<[^>]*>)/y)) refuse("backreference", this.since(start));
    return this.characterOrSet();
  }

  #assertion(start: number, kind: Assertion["kind"], negate: boolean): Assertion {
    return { type: "Assertion", kind, negate, ...this.since(start), asserts: true };
  }

  #group(start: number): Element {
    const open = this.take(/\((?:\?(?:<?[=!]|<[^>]*>|[ims]*(?:-[ims]*)?:))?/y) as string;
    if (/[=!]$/.test(open)) refuse(open.includes("<") ? "lookbehind" : "lookahead", { start, raw: this.source.slice(start) });
    const alternatives = this.#alternatives();
    this.position++;
    const { raw } = this.since(start);
    return { type: "Group", alternatives, modifiers: modifiersOf(open), start, raw, asserts: alternatives.some(({ asserts }) => asserts) };
  }
}

function countsOf(quantifier: string): [min: number, max: number] {
  if (quantifier.startsWith("*")) return [0, Infinity];
  if (quantifier.startsWith("+")) return [1, Infinity];
  if (quantifier.startsWith("?")) return [0, 1];
  const [, min, isRange, max] = /^\{([0-9]+)(,?)([0-9]*)/.exec(quantifier) as unknown as [string, string, string, string];
  return [Number(min), isRange === "" ? Number(min) : max === "" ? Infinity : Number(max)];
}

function modifiersOf(open: string): Modifiers {
  const [, add = "", remove = ""] = /^\(\?([ims]*)(?:-([ims]*))?:$/.exec(open) ?? [];
  return { add, remove };
}
