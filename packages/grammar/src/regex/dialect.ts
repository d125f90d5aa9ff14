import { type CodePointSet, codePointSet, complementOf } from "./codePointSet.ts";
import { ignoringCase } from "./hostUnicode.ts";

/** What differs between the syntaxes of regular expressions that are parsed as ECMA-262's. */
export type Dialect = {
  /** What `.` matches without flag `s`. */
  dot: CodePointSet;
  /** What `\d`, `\s` or `\w` matches. */
  escape(kind: "digit" | "space" | "word", flags: { ignoreCase: boolean }): CodePointSet;
};

export const lineTerminators: CodePointSet = codePointSet(0x0a, 0x0d, [0x2028, 0x2029]);
const whiteSpace = codePointSet([0x09, 0x0d], 0x20, 0xa0, 0x1680, [0x2000, 0x200a], 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff);
const digits = codePointSet([0x30, 0x39]);
const word = codePointSet([0x30, 0x39], [0x41, 0x5a], 0x5f, [0x61, 0x7a]);

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
