import type { Element } from "./ast.ts";
import { type CodePointSet, codePointSet, complementOf, unionOf } from "./codePointSet.ts";
import { hostSet, ignoringCase } from "./hostUnicode.ts";

/** What differs between the syntaxes of regular expressions that are parsed as ECMA-262's. */
export type Dialect = {
  /** What `.` matches without flag `s`. */
  dot: CodePointSet;
  /** What `\d`, `\s` or `\w` matches. */
  escape(kind: "digit" | "space" | "word", flags: { ignoreCase: boolean }): CodePointSet;
  /** Returns the name of what an expression may not have, if the node is that. */
  refused?(node: Element): string | undefined;
};

export const lineTerminators: CodePointSet = codePointSet([0x0a, 0x0d, [0x2028, 0x2029]]);
const whiteSpace = codePointSet([[0x09, 0x0d], 0x20, 0xa0, 0x1680, [0x2000, 0x200a], 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]);
const digits = codePointSet([[0x30, 0x39]]);
const word = codePointSet([[0x30, 0x39], [0x41, 0x5a], 0x5f, [0x61, 0x7a]]);

/** Characters of words for `\w` and `\b`: ASCII letters, digits and `_`, and where case is ignored also `ſ` and the Kelvin sign. */
export function wordCharacters(isCaseIgnored: boolean): CodePointSet {
  return isCaseIgnored ? ignoringCase(word) : word;
}

export const ecmaScript: Dialect = {
  dot: complementOf(lineTerminators),
  escape(kind, { ignoreCase }) {
    if (kind === "word") return wordCharacters(ignoreCase);
    return kind === "digit" ? digits : whiteSpace;
  },
};
/** Rust's crate `regex`, which llguidance uses: classes are those of Unicode, and `.` excludes the line feed alone. */
export const rust: Dialect = {
  dot: complementOf(codePointSet([0x0a])),
  escape(kind) {
    if (kind === "digit") return hostSet("\\p{Nd}");
    if (kind === "space") return hostSet("\\p{White_Space}");
    return unionOf(...["Alphabetic", "M", "Nd", "Pc", "Join_Control"].map((name) => hostSet(`\\p{${name}}`)));
  },
  refused(node) {
    if (node.type === "Assertion") return node.kind === "word" ? "word boundary" : "anchor";
    if (node.type === "Quantifier") return node.greedy ? undefined : "lazy quantifier";
    if (node.type !== "CharacterClass") return undefined;
    if (node.elements.length === 0) return "empty class";
    // Set operations and nested classes, which have another meaning, or none, without flag `v`.
    return /\[|&&|--|~~/.test(node.raw.slice(1).replace(/\\./gsu, "")) ? "nested or combined class" : undefined;
  },
};
