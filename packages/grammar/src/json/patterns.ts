import { GrammarError } from "../errors.ts";
import type { Regular } from "../expression/types.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";
import { type SchemaNode, schemaError } from "./documents.ts";
import { characters, stringOf } from "./strings.ts";

/** Returns the texts of the strings in which the regular expression `source`, a value of `keyword`, finds a match. */
export function patternLanguage(source: string, node: SchemaNode, keyword: string): Regular {
  try {
    return stringOf(insideOf(source, false));
  } catch (error) {
    if (!(error instanceof GrammarError) || error.pointer !== undefined) throw error;
    const { message } = error;
    throw schemaError(error.code, node, keyword, message);
  }
}

/** Returns the texts inside quotation marks of the strings that match `source`, wholly or with `isWhole: false` in a part. */
export function insideOf(source: string, isWhole: boolean): Regular {
  const options = { anchored: isWhole, codePoints: characters };
  try {
    return regularFromRegex(source, options);
  } catch (error) {
    const lenient = withoutNeedlessEscapes(source);
    if (!(error instanceof GrammarError) || error.code !== "GRAMMAR_SYNTAX" || lenient === source) throw error;
    return regularFromRegex(lenient, options);
  }
}

/**
 * Replaces escapes of punctuation that needs none. Many schemas have them, but Unicode expressions do not allow them. Outside a class they
 * become a class: a mere comma would turn `{1\,2}` into a quantifier.
 */
function withoutNeedlessEscapes(source: string): string {
  let isInClass = false;
  return source.replaceAll(/\\?./gsu, (piece) => {
    if (piece === "[") isInClass = true;
    else if (piece === "]") isInClass = false;
    if (!/^\\[^\w\s^$\\.*+?()[\]{}|/]$/u.test(piece)) return piece;
    if (!isInClass) return `[${piece.slice(1)}]`;
    return piece === "\\-" ? piece : piece.slice(1);
  });
}
