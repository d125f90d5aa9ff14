import type { Character, CharacterClass, CharacterSet, ClassElement } from "./ast.ts";
import { RegexReader } from "./reader.ts";

/** What `\b` is in a class. */
const backspace = 8;

/** Reads classes: `[…]`. */
export class ClassParser extends RegexReader {
  readonly #unicodeSets: boolean;

  constructor(source: string, unicodeSets: boolean) {
    super(source);
    this.#unicodeSets = unicodeSets;
  }

  class(): CharacterClass {
    const start = this.position++;
    const negate = this.take("^") !== undefined;
    const elements: ClassElement[] = [];
    while (!this.take("]")) {
      const operator = this.#unicodeSets ? (this.take("&&") ?? this.take("--")) : undefined;
      const element = this.#element();
      if (operator === undefined) elements.push(element);
      else this.#combine(elements, operator as "&&" | "--", element);
    }
    return { type: "CharacterClass", negate, elements, ...this.since(start) };
  }

  /** Appends an operand to the operation that the class consists of. */
  #combine(elements: ClassElement[], operator: "&&" | "--", operand: ClassElement): void {
    const left = elements.pop() as ClassElement;
    const operands = left.type === "ClassOperation" ? [...left.operands, operand] : [left, operand];
    elements.push({ type: "ClassOperation", operator, operands, ...this.since(left.start) });
  }

  #element(): ClassElement {
    const start = this.position;
    if (this.#unicodeSets && this.source[start] === "[") return this.class();
    if (this.#unicodeSets && this.take("\\q{")) return this.#strings(start);
    const first = this.#atom();
    // With flag `v`, two hyphens are an operator.
    if (first.type !== "Character" || !this.take(this.#unicodeSets ? /-(?![\]-])/y : /-(?!\])/y)) return first;
    const last = this.#atom();
    return { type: "CharacterRange", first: first.value, last: (last as Character).value, ...this.since(start) };
  }

  #atom(): Character | CharacterSet {
    const start = this.position;
    if (this.take("\\b")) return { type: "Character", value: backspace, ...this.since(start) };
    return this.characterOrSet();
  }

  #strings(start: number): ClassElement {
    const strings: number[][] = [[]];
    while (!this.take("}")) {
      if (this.take("|")) strings.push([]);
      else (strings.at(-1) as number[]).push(this.take("\\b") ? backspace : this.codePoint());
    }
    return { type: "ClassStrings", strings, ...this.since(start) };
  }
}
