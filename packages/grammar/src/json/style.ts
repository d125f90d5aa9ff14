import { bytes, empty, repeat, sequence, text } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";

/** White space between the parts of a text. */
export type Whitespace = "compact" | "pretty" | "any";

/** The white space and punctuation between the parts of arrays and objects. */
export interface Style {
  /** Levels of nesting that differ in their white space. */
  readonly levels: number;
  readonly colon: Regular;
  /** What precedes the first member at a level. */
  first(level: number): Regular;
  /** What separates members at a level. */
  comma(level: number): Regular;
  /** What follows the last member. */
  last(level: number): Regular;
  /** What an array or object without members has inside. */
  readonly inside: Regular;
}

/** Levels that are indented; deeper ones are indented like the last. */
const maximumLevels = 32;

const compact: Style = {
  levels: 1,
  colon: text(":"),
  first: () => empty,
  comma: () => text(","),
  last: () => empty,
  inside: empty,
};

/** As `JSON.stringify` writes it with an indentation of two spaces. */
const pretty: Style = {
  levels: maximumLevels,
  colon: text(": "),
  first: lineAt,
  comma: (level) => sequence([",", lineAt(level)]),
  last: (level) => lineAt(level - 1),
  inside: empty,
};

/** Returns the style with the given white space. `"any"` allows up to `limit` characters wherever JSON allows white space. */
export function styleOf(whitespace: Whitespace, limit: number): Style {
  if (whitespace !== "any") return whitespace === "pretty" ? pretty : compact;
  const space = repeat(
    bytes([
      [0x09, 0x0a],
      [0x0d, 0x0d],
      [0x20, 0x20],
    ]),
    0,
    limit,
  );
  const comma = sequence([space, ",", space]);
  const colon = sequence([space, ":", space]);
  return { levels: 1, colon, first: () => space, comma: () => comma, last: () => space, inside: space };
}

function lineAt(level: number): Regular {
  return text(`\n${"  ".repeat(level)}`);
}
