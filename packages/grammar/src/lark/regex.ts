import type { Meter } from "../budget.ts";
import type { Regular } from "../expression/types.ts";
import { rust } from "../regex/dialect.ts";
import { withCodePointEscapes } from "../regex/escapes.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";

/** What Rust allows to escape and ECMA-262 does not, such as `\"`. */
const needsNoEscape = /[-!"#%&',:;=@_`~ ]/;

/**
 * What a regular expression of Lark's notation matches as a whole. llguidance gives these the meaning of Rust's crate `regex`: `\d`, `\s` and
 * `\w` are those of Unicode, and `.` excludes the line feed alone. What ECMA-262 spells otherwise or lacks is refused.
 *
 * @throws GrammarError
 */
export function regularFromLarkRegex(source: string, flags: string, meter: Meter): Regular {
  return regularFromRegex(withCodePointEscapes(source, needsNoEscape), { flags: flags.replace("u", ""), dialect: rust, meter });
}
