import { type Budget, Meter } from "../budget.ts";
import { argumentError, objectOf, shown } from "../checks.ts";
import { choice, codePoints, empty, repeat, sequence } from "../expression/builders.ts";
import type { Grammar, Regular } from "../expression/types.ts";
import { type Assertion, lineEnd, lineStart, textEnd, textStart, withAssertions, wordBoundary } from "./assertions.ts";
import type { Alternative, Assertion as AssertionNode, ClassNode, Element, Modifiers, Quantifier } from "./ast.ts";
import { classSetOf, type Flags } from "./classes.ts";
import { allCodePoints, type CodePointSet, codePointSet } from "./codePointSet.ts";
import { type Dialect, ecmaScript } from "./dialect.ts";
import { ignoringCase } from "./hostUnicode.ts";
import { parseRegex } from "./parse.ts";
import { refuse } from "./refuse.ts";

export interface RegexOptions {
  /** Flags of the expression: letters of `imsuv`, each at most once. `u` is added unless there is a `v`. Default: `"u"`. */
  flags?: string;
  /** Whether the whole text must match. If not, a part of it must: the text has any characters before and after. Default: `true`. */
  anchored?: boolean;
  /** Limits of the work. */
  budget?: Budget;
}

/**
 * The texts that a regular expression in the syntax of ECMA-262 matches, with flag `u` or `v`: those for which
 * `new RegExp("^(?:" + source + ")$", flags)` finds a match, or with `anchored: false` those for which `new RegExp(source, flags)` does.
 * Groups do not capture, and lazy quantifiers match what greedy ones do. Unicode properties and the equality of cases are those of the
 * JavaScript engine.
 *
 * Lookahead, lookbehind, backreferences and properties of strings (`\p{RGI_Emoji}`) are refused, and so are assertions such as `\b` and `^`
 * within a group that is repeated.
 *
 * @throws GrammarError with code `GRAMMAR_SYNTAX` and `RegExp`'s `reason` for an expression that it does not accept, `GRAMMAR_UNSUPPORTED` with
 * `keyword` and `column`, from 1, for one that is refused, `GRAMMAR_BUDGET`, also for more than 250 groups within one another.
 */
export function fromRegex(source: string, options: RegexOptions = {}): Grammar & { readonly start: Regular } {
  return { start: regularFromRegex(source, options), rules: {} };
}

export interface RegularRegexOptions extends RegexOptions {
  /** The syntax's own classes. Default: those of ECMA-262. */
  dialect?: Dialect;
  /** Makes the expression for one code point of a set. Default: the code point in UTF-8. */
  codePoints?: (set: CodePointSet) => Regular;
  /** Counts the work together with other work. Default: a meter of the budget. */
  meter?: Meter | undefined;
}

/** What {@link fromRegex} matches, as an expression for use within others. */
export function regularFromRegex(source: string, options: RegularRegexOptions = {}): Regular {
  const { flags = "u", anchored = true, dialect = ecmaScript } = objectOf("fromRegex", "options { flags, anchored, budget }", options);
  if (typeof anchored !== "boolean") throw argumentError("fromRegex", "anchored to be true or false", shown(anchored));
  const parsed = parseRegex(source, flags, dialect, options.meter ?? new Meter(options.budget));
  return new RegexCompiler(dialect, options.codePoints ?? codePoints).compile(parsed, anchored);
}

type Piece = Regular | Assertion;

/** Sequences into which groups with assertions may be multiplied out. */
const maxSequences = 256;

class RegexCompiler {
  readonly #dialect: Dialect;
  readonly #codePoints: (set: CodePointSet) => Regular;

  constructor(dialect: Dialect, toExpression: (set: CodePointSet) => Regular) {
    this.#dialect = dialect;
    this.#codePoints = toExpression;
  }

  compile({ pattern, flags }: ReturnType<typeof parseRegex>, isAnchored: boolean): Regular {
    const anyText = isAnchored ? empty : repeat(this.#codePoints(allCodePoints), 0, Infinity);
    if (!pattern.asserts) return sequence([anyText, this.#disjunction(pattern, flags), anyText]);
    const sequences = this.#expanded(pattern, flags);
    return choice(sequences.map((pieces) => withAssertions([anyText, ...pieces, anyText], this.#codePoints)));
  }

  #disjunction(node: { alternatives: readonly Alternative[] }, flags: Flags): Regular {
    return choice(node.alternatives.map(({ elements }) => sequence(elements.map((element) => this.#element(element, flags)))));
  }

  /** A part without assertions. */
  #element(node: Element, flags: Flags): Regular {
    switch (node.type) {
      case "Group":
        return this.#disjunction(node, modified(flags, node.modifiers));
      case "Quantifier":
        return this.#repeated(node, this.#element(node.element, flags));
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
        return this.#class(node, flags);
      case "Assertion":
        return refuse("assertion in a repeated group", node);
    }
  }

  #repeated(node: Quantifier, item: Regular): Regular {
    if (!Number.isSafeInteger(node.min)) refuse("count above 2^53", node);
    return repeat(item, node.min, Number.isSafeInteger(node.max) ? node.max : Infinity);
  }

  #class(node: ClassNode, flags: Flags): Regular {
    const set = classSetOf(node, flags, this.#dialect);
    const one = (codePoint: number) => {
      const itself = codePointSet([codePoint]);
      return this.#codePoints(flags.ignoreCase ? ignoringCase(itself) : itself);
    };
    const strings = set.strings.map((string) => sequence(string.map(one)));
    return choice([this.#codePoints(set.codePoints), ...strings]);
  }

  /** The alternatives of a group as sequences of parts without assertions, and assertions. */
  #expanded(node: { alternatives: readonly Alternative[] }, flags: Flags): Piece[][] {
    return node.alternatives.flatMap(({ elements }) => {
      let sequences: Piece[][] = [[]];
      for (const element of elements) {
        const parts = this.#expandedElement(element, flags);
        if (sequences.length * parts.length > maxSequences)
          refuse(`more than ${maxSequences} combinations of alternatives with assertions`, element);
        sequences = sequences.flatMap((pieces) => parts.map((part) => [...pieces, ...part]));
      }
      return sequences;
    });
  }

  #expandedElement(node: Element, flags: Flags): Piece[][] {
    if (!node.asserts) return [[this.#element(node, flags)]];
    switch (node.type) {
      case "Assertion":
        return [[this.#assertion(node, flags)]];
      case "Group":
        return this.#expanded(node, modified(flags, node.modifiers));
      case "Quantifier":
        if (node.max > 1) refuse("assertion in a repeated group", node);
        if (node.max === 0) return [[]];
        return [...(node.min === 0 ? [[]] : []), ...this.#expandedElement(node.element, flags)];
      default:
        return [[this.#element(node, flags)]];
    }
  }

  #assertion({ kind, negate }: AssertionNode, flags: Flags): Assertion {
    if (kind === "word") return wordBoundary(flags.ignoreCase, negate);
    if (kind === "start") return flags.multiline ? lineStart : textStart;
    return flags.multiline ? lineEnd : textEnd;
  }
}

function modified(flags: Flags, { add, remove }: Modifiers): Flags {
  const changed = (isSet: boolean, letter: string) => (isSet || add.includes(letter)) && !remove.includes(letter);
  const { ignoreCase, multiline, dotAll } = flags;
  return { ...flags, ignoreCase: changed(ignoreCase, "i"), multiline: changed(multiline, "m"), dotAll: changed(dotAll, "s") };
}
