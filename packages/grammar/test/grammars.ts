import fc from "fast-check";
import {
  and,
  anyText,
  choice,
  codePoints,
  type Expression,
  type Grammar,
  not,
  type Regular,
  reference,
  repeat,
  sequence,
  terminal,
} from "../src/index.ts";

export function letters(first: string, last: string = first): Regular {
  return codePoints([[first.codePointAt(0)!, last.codePointAt(0)!]]);
}

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc.constantFrom("", "a", "b", "ab", "ba", "abc", "c").map((text) => sequence([text])),
  fc.constantFrom<Expression>(
    letters("a", "b"),
    repeat(letters("a", "b"), 0, 2),
    repeat(letters("a", "c"), 1, 5),
    repeat("a", 0, Infinity),
    terminal("b"),
    terminal(repeat("ab", 0, Infinity)),
    and([repeat(letters("a", "c"), 0, 4), not(sequence([anyText, "b", anyText]))]),
    choice([]),
  ),
  fc.constantFrom("x", "y", "z").map(reference),
);

const expression = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    leaf,
    fc.array(tie("expression"), { minLength: 1, maxLength: 3 }).map(sequence as (items: Expression[]) => Expression),
    fc.array(tie("expression"), { minLength: 1, maxLength: 3 }).map(choice as (items: Expression[]) => Expression),
    fc.tuple(tie("expression"), fc.nat(2), fc.constantFrom(0, 1, 2, Infinity)).map(([item, min, more]) => repeat(item, min, min + more)),
  ),
})).expression;

/** Random grammars over the letters a to c with three rules: recursive, left-recursive and ambiguous ones among them. */
export const grammars: fc.Arbitrary<Grammar> = fc
  .tuple(expression, expression, expression, expression)
  .map(([start, x, y, z]) => ({ start, rules: { x, y, z } }));

/**
 * The texts of a grammar of up to `length` letters, found by a least fixed point: the texts of each rule grow until none is new.
 */
export function textsOf(grammar: Grammar, length: number, textsOfRegular: (regular: Regular) => ReadonlySet<string>): Set<string> {
  const byRule = new Map<string, Set<string>>(Object.keys(grammar.rules).map((name) => [name, new Set()]));
  const concat = (a: ReadonlySet<string>, b: ReadonlySet<string>) => {
    const result = new Set<string>();
    for (const x of a) for (const y of b) if (x.length + y.length <= length) result.add(x + y);
    return result;
  };
  const evaluate = (each: Expression): ReadonlySet<string> => {
    if (each.kind === "terminal") return textsOfRegular(each.item);
    if (each.kind === "reference") return byRule.get(each.name)!;
    if (each.isRegular) return textsOfRegular(each as Regular);
    if (each.kind === "sequence") return each.items.map(evaluate).reduce(concat, new Set([""]));
    if (each.kind === "choice") return new Set(each.items.flatMap((item) => [...evaluate(item)]));
    const { item, min, max } = each as { item: Expression; min: number; max: number };
    const one = evaluate(item);
    const found = new Set<string>();
    let turns: ReadonlySet<string> = new Set([""]);
    for (let count = 0; count <= Math.min(max, min + length + 1); count++) {
      if (count >= min) for (const text of turns) found.add(text);
      turns = concat(turns, one);
    }
    return found;
  };
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (const [name, texts] of byRule) {
      const before = texts.size;
      for (const text of evaluate(grammar.rules[name]!)) texts.add(text);
      isGrowing ||= texts.size > before;
    }
  }
  return new Set(evaluate(grammar.start));
}
