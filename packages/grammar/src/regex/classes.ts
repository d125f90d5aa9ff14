import type { CharacterSet, ClassElement, ClassNode } from "./ast.ts";
import { allCodePoints, type CodePointSet, codePointSet, complementOf, differenceOf, intersectionOf } from "./codePointSet.ts";
import type { Dialect } from "./dialect.ts";
import { folded, hostSet, ignoringCase } from "./hostUnicode.ts";
import { refuse } from "./refuse.ts";

/** The flags that decide what a part of an expression matches; modifiers such as `(?i:…)` change the first three within a group. */
export type Flags = { ignoreCase: boolean; multiline: boolean; dotAll: boolean; unicodeSets: boolean };

/** What a class of a regular expression matches: one of these code points or, with flag `v`, one of these strings. */
export type ClassSet = { codePoints: CodePointSet; strings: readonly (readonly number[])[] };

const propertyOfStrings = /^\\p\{(?:Basic_Emoji|Emoji_Keycap_Sequence|RGI_\w+)\}$/;

/** The set that a character, a class or an escape such as `\d` outside a class matches. */
export function classSetOf(node: ClassNode, flags: Flags, dialect: Dialect): ClassSet {
  return new ClassReader(flags, dialect).read(node);
}

/**
 * Computes classes as ECMA-262 does. With `v`, case is ignored before sets are complemented or combined, with `u` after all but the
 * complement that `[^…]` is. A set that ignores case is represented by all code points that equal one of its members.
 */
class ClassReader {
  readonly #flags: Flags;
  readonly #dialect: Dialect;

  constructor(flags: Flags, dialect: Dialect) {
    this.#flags = flags;
    this.#dialect = dialect;
  }

  read(node: ClassNode): ClassSet {
    const { codePoints, strings } = this.#element(node);
    return { codePoints: this.#flags.ignoreCase ? ignoringCase(codePoints) : codePoints, strings };
  }

  #element(node: ClassElement): ClassSet {
    switch (node.type) {
      case "Character":
        return this.#leaf(codePointSet([node.value]));
      case "CharacterRange":
        return this.#leaf(codePointSet([[node.first, node.last]]));
      case "CharacterSet":
        return this.#characterSet(node);
      case "CharacterClass":
        return this.#complementIf(node.negate, union(node.elements.map((element) => this.#element(element))));
      case "ClassOperation": {
        const [operation, areCommonKept] = node.operator === "&&" ? ([intersectionOf, true] as const) : ([differenceOf, false] as const);
        const operands = node.operands.map((operand) => this.#element(operand));
        return operands.reduce((left, right) => combine(left, right, operation, areCommonKept));
      }
      case "ClassStrings":
        return union(node.strings.map((string) => this.#stringSet(string)));
    }
  }

  #leaf(codePoints: CodePointSet): ClassSet {
    return { codePoints: this.#flags.unicodeSets && this.#flags.ignoreCase ? ignoringCase(codePoints) : codePoints, strings: [] };
  }

  /** `[^…]` ignores case before its complement with either flag. */
  #complementIf(negate: boolean, { codePoints, strings }: ClassSet): ClassSet {
    if (!negate) return { codePoints, strings };
    return { codePoints: complementOf(this.#flags.ignoreCase ? ignoringCase(codePoints) : codePoints), strings };
  }

  #characterSet(node: CharacterSet): ClassSet {
    if (node.kind === "any") return this.#leaf(this.#flags.dotAll ? allCodePoints : this.#dialect.dot);
    if (node.kind === "property" && propertyOfStrings.test(node.raw)) refuse("property of strings", node);
    const { codePoints } = this.#leaf(
      node.kind === "property" ? hostSet(`\\p${node.raw.slice(2)}`) : this.#dialect.escape(node.kind, this.#flags),
    );
    return { codePoints: node.negate ? complementOf(codePoints) : codePoints, strings: [] };
  }

  #stringSet(characters: readonly number[]): ClassSet {
    if (characters.length === 1) return this.#leaf(codePointSet(characters));
    return { codePoints: [], strings: [this.#flags.ignoreCase ? characters.map(folded) : characters] };
  }
}

function union(sets: readonly ClassSet[]): ClassSet {
  return { codePoints: codePointSet(sets.flatMap(({ codePoints }) => codePoints)), strings: sets.flatMap(({ strings }) => strings) };
}

function combine(
  left: ClassSet,
  right: ClassSet,
  codePoints: (a: CodePointSet, b: CodePointSet) => CodePointSet,
  areCommonKept: boolean,
): ClassSet {
  const inRight = new Set(right.strings.map(String));
  return {
    codePoints: codePoints(left.codePoints, right.codePoints),
    strings: left.strings.filter((string) => inRight.has(String(string)) === areCommonKept),
  };
}
