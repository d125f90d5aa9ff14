import { argumentError, listOf, objectOf, shown } from "../checks.ts";
import { and, anyCodePoint, anyText, choice, not, repeat, sequence } from "./builders.ts";
import type { Expression, Item, Regular } from "./types.ts";

/** Text between two markers, such as a call of a tool. */
export interface Tag {
  /** Text that begins the tag. */
  readonly begin: string;
  /** Content between the markers. */
  readonly content: Item;
  /** Text that ends the tag. */
  readonly end: string;
}

/** Options of {@link tagged}. */
export interface TaggedOptions {
  /** Texts after which only a tag may follow: beginnings of the tags' `begin`. By default each whole `begin`. */
  readonly triggers?: readonly string[];
  /** Fewest tags. 0 by default. */
  readonly min?: number;
  /** Most tags. `Infinity` by default. */
  readonly max?: number;
}

/** Matches any text that ends with the first occurrence of `marker` in it. @throws {GrammarError} `GRAMMAR_ARGUMENT` if `marker` is empty */
export function anyTextUntil(marker: string): Regular {
  requireText("anyTextUntil", marker);
  if (marker === "") throw argumentError("anyTextUntil", "a marker of at least one character", "an empty text");
  return untilFirst(marker, [marker]);
}

/**
 * Matches free text with tags in it. A trigger in the text starts a tag; every tag has its content and its end, so that no text can look like
 * a tag without being one.
 * @throws {GrammarError} `GRAMMAR_ARGUMENT` if a tag begins with no trigger, or a trigger is empty or part of another
 */
export function tagged(tags: readonly Tag[], options: TaggedOptions = {}): Expression {
  const { triggers, min = 0, max = Infinity } = objectOf("tagged", "options { triggers, min, max }", options);
  for (const tag of listOf("tagged", tags)) {
    const { begin, end } = objectOf("tagged", "tags { begin, content, end }", tag);
    requireText("tagged", begin);
    requireText("tagged", end);
  }
  for (const trigger of listOf("tagged", triggers ?? [])) requireText("tagged", trigger);
  const starts = [...new Set(triggers ?? tags.map(({ begin }) => begin))];
  for (const trigger of starts) {
    const other = starts.find((each) => each !== trigger && each.includes(trigger));
    if (trigger === "" || other !== undefined)
      throw argumentError("tagged", "triggers that are not empty and not part of each other", JSON.stringify(trigger));
  }
  const lost = tags.find(({ begin }) => !starts.some((trigger) => begin.startsWith(trigger)));
  if (lost !== undefined)
    throw argumentError("tagged", "a trigger at the beginning of every tag", `none for ${JSON.stringify(lost.begin)}`);
  const calls = starts.map((trigger) => {
    const own = tags.filter(({ begin }) => begin.startsWith(trigger));
    return sequence([
      untilFirst(trigger, starts),
      choice(own.map(({ begin, content, end }) => sequence([begin.slice(trigger.length), content, end]))),
    ]);
  });
  return sequence([repeat(choice(calls), min, max), textWithout(starts)]);
}

function requireText(where: string, value: string): void {
  if (typeof value !== "string") throw argumentError(where, "a text", shown(value));
}

/** Text that ends with `marker`, before which none of `markers` ends. */
function untilFirst(marker: string, markers: readonly string[]): Regular {
  return and([sequence([anyText, marker]), not(sequence([anyText, choice(markers), anyCodePoint, anyText]))]);
}

function textWithout(markers: readonly string[]): Regular {
  return and([anyText, not(sequence([anyText, choice(markers), anyText]))]);
}
