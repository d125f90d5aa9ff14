import type { Regular } from "../expression/types.ts";
import { rust } from "../regex/dialect.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";

/**
 * What a regular expression of Lark's notation matches as a whole. llguidance gives these the meaning of Rust's crate `regex`: `\d`, `\s` and
 * `\w` are those of Unicode, and `.` excludes the line feed alone. What ECMA-262 spells otherwise or lacks is refused.
 *
 * @throws GrammarError
 */
export function regularFromLarkRegex(source: string, flags: string): Regular {
  return regularFromRegex(withHexEscapes(source), { flags: flags.replace("u", ""), dialect: rust });
}

/** Escapes that Rust allows and ECMA-262 does not, such as `\"`, as `\xXX`. */
function withHexEscapes(source: string): string {
  return source.replace(/\\(.)/gsu, (pair, escaped) =>
    /[-!"#%&',:;=@_`~ ]/.test(escaped) ? `\\x${escaped.charCodeAt(0).toString(16)}` : pair,
  );
}
