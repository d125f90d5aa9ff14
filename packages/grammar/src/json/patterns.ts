import type { Meter } from "../budget.ts";
import { GrammarError } from "../errors.ts";
import type { Regular } from "../expression/types.ts";
import { withCodePointEscapes } from "../regex/escapes.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";
import { type SchemaNode, schemaError } from "./documents.ts";
import { characters, stringOf } from "./strings.ts";

/** Punctuation that means itself without a backslash. Many schemas escape it, but expressions with flag `u` do not allow that. */
const needsNoEscape = /^[^\w\s^$\\.*+?()[\]{}|/]$/u;

/** Returns the texts of the strings in which the regular expression `source`, a value of `keyword`, finds a match. */
export function patternLanguage(source: string, node: SchemaNode, keyword: string, meter: Meter): Regular {
  try {
    return stringOf(insideOf(source, false, meter));
  } catch (error) {
    if (!(error instanceof GrammarError) || error.pointer !== undefined) throw error;
    const { message } = error;
    throw schemaError(error.code, node, keyword, message);
  }
}

/** Returns the texts inside quotation marks of the strings that match `source`, wholly or with `isWhole: false` in a part. */
export function insideOf(source: string, isWhole: boolean, meter?: Meter): Regular {
  const options = { anchored: isWhole, codePoints: characters, meter };
  try {
    return regularFromRegex(source, options);
  } catch (error) {
    const lenient = withCodePointEscapes(source, needsNoEscape);
    if (!(error instanceof GrammarError) || error.code !== "GRAMMAR_SYNTAX" || lenient === source) throw error;
    return regularFromRegex(lenient, options);
  }
}
