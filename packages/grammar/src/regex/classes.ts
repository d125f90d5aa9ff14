import type { AST } from "@eslint-community/regexpp";
import { allCodePoints, type CodePointSet, codePointSet, complementOf, differenceOf, intersectionOf } from "./codePointSet.ts";
import type { Dialect } from "./dialect.ts";
import { folded, hostSet, ignoringCase } from "./hostUnicode.ts";

/** The flags that decide what a part of an expression matches; modifiers such as `(?i:…)` change the first three within a group. */
export type Flags = { ignoreCase: boolean; multiline: boolean; dotAll: boolean; unicodeSets: boolean };

/** What a class of a regular expression matches: one of these code points or, with flag `v`, one of these strings. */
export type ClassSet = { codePoints: CodePointSet; strings: readonly (readonly number[])[] };

type ClassNode = AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass | AST.Character;
type ClassElement = ClassNode | AST.CharacterClassRange | AST.ClassStringDisjunction | AST.ClassIntersection | AST.ClassSubtraction;

/** Reports that a part of an expression is not supported. */
export type Refuse = (node: AST.Node, what: string) => never;

/** The set that a character, a class or an escape such as `\d` outside a class matches. */
export function classSetOf(node: ClassNode, flags: Flags, dialect: Dialect, refuse: Refuse): ClassSet {
  return new ClassReader(flags, dialect, refuse).read(node);
}

/**
 * Computes classes as ECMA-262 does. With `v`, case is ignored before sets are complemented or combined, with `u` after all but the
 * complement that `[^…]` is. A set that ignores case is represented by all code points that equal one of its members.
 */
class ClassReader {
  readonly #flags: Flags;
  readonly #dialect: Dialect;
  readonly #refuse: Refuse;

  constructor(flags: Flags, dialect: Dialect, refuse: Refuse) {
    this.#flags = flags;
    this.#dialect = dialect;
    this.#refuse = refuse;
  }

  read(node: ClassNode): ClassSet {
    const { codePoints, strings } = this.#element(node);
    return { codePoints: this.#flags.ignoreCase ? ignoringCase(codePoints) : codePoints, strings };
  }

  #element(node: ClassElement): ClassSet {
    switch (node.type) {
      case "Character":
        return this.#leaf(codePointSet([node.value]));
      case "CharacterClassRange":
        return this.#leaf(codePointSet([[node.min.value, node.max.value]]));
      case "CharacterSet":
        return this.#characterSet(node);
      case "CharacterClass":
        return this.#complementIf(node.negate, union(node.elements.map((element) => this.#element(element))));
      case "ExpressionCharacterClass":
        return this.#complementIf(node.negate, this.#element(node.expression));
      case "ClassIntersection":
        return combine(this.#element(node.left), this.#element(node.right), intersectionOf, true);
      case "ClassSubtraction":
        return combine(this.#element(node.left), this.#element(node.right), differenceOf, false);
      case "ClassStringDisjunction":
        return union(node.alternatives.map((alternative) => this.#stringSet(alternative)));
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

  #characterSet(node: AST.CharacterSet): ClassSet {
    if (node.kind === "any") return this.#leaf(this.#flags.dotAll ? allCodePoints : this.#dialect.dot);
    if (node.kind === "property" && node.strings) this.#refuse(node, "property of strings");
    const { codePoints } = this.#leaf(node.kind === "property" ? this.#property(node) : this.#dialect.escape(node.kind, this.#flags));
    return { codePoints: node.negate ? complementOf(codePoints) : codePoints, strings: [] };
  }

  #property(node: AST.UnicodePropertyCharacterSet): CodePointSet {
    try {
      return hostSet(`\\p${node.raw.slice(2)}`);
    } catch {
      return this.#refuse(node, "properties that this JavaScript engine does not know");
    }
  }

  #stringSet(alternative: AST.StringAlternative): ClassSet {
    const characters = alternative.elements.map(({ value }) => value);
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
