import { expect } from "vitest";
import { utf8Ranges } from "../src/expression/utf8.ts";
import { compile, type Expression, type Grammar, vocabulary } from "../src/index.ts";

/**
 * Whether a grammar matches a text, by definition: the sets of ends from each start, computed until they no longer grow. Slow, and
 * independent of what the package does to match.
 */
export function matches(grammar: Grammar, text: string | Uint8Array): boolean {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const ends = new Map<Expression, Map<number, Set<number>>>();
  let hasGrown = true;
  const endsOf = (expression: Expression, start: number): Set<number> => {
    const known = ends.get(expression) ?? new Map<number, Set<number>>();
    ends.set(expression, known);
    const before = known.get(start);
    if (before !== undefined && seen.get(expression)?.has(start)) return before;
    seen.set(expression, (seen.get(expression) ?? new Set()).add(start));
    if (before === undefined) known.set(start, new Set());
    const found = compute(expression, start);
    if (found.size !== (known.get(start) as Set<number>).size) hasGrown = true;
    known.set(start, found);
    return found;
  };
  let seen = new Map<Expression, Set<number>>();
  const each = (expression: Expression, starts: Iterable<number>) =>
    new Set([...starts].flatMap((start) => [...endsOf(expression, start)]));
  const compute = (expression: Expression, start: number): Set<number> => {
    switch (expression.kind) {
      case "text": {
        const wanted = new TextEncoder().encode(expression.text);
        return new Set(wanted.every((byte, i) => bytes[start + i] === byte) ? [start + wanted.length] : []);
      }
      case "bytes":
        return new Set(
          expression.ranges.some(([a, b]) => start < bytes.length && bytes[start]! >= a && bytes[start]! <= b) ? [start + 1] : [],
        );
      case "codePoints":
        return new Set(
          expression.ranges
            .flatMap(utf8Ranges)
            .filter((ranges) => ranges.every(([a, b], i) => start + i < bytes.length && bytes[start + i]! >= a && bytes[start + i]! <= b))
            .map((ranges) => start + ranges.length),
        );
      case "sequence":
        return expression.items.reduce((starts, item) => each(item, starts), new Set([start]));
      case "choice":
        return new Set(expression.items.flatMap((item) => [...endsOf(item, start)]));
      case "repeat": {
        let [reached, found] = [new Set([start]), new Set<number>(expression.min === 0 ? [start] : [])];
        const limit = Math.min(expression.max, Math.max(expression.min, 0) + bytes.length - start + 1);
        for (let i = 1; i <= limit && reached.size > 0; i++) {
          reached = each(expression.item, reached);
          if (i >= expression.min) found = new Set([...found, ...reached]);
        }
        return found;
      }
      case "and":
        return new Set(
          [...endsOf(expression.items[0] as Expression, start)].filter((end) =>
            expression.items.every((item) => endsOf(item, start).has(end)),
          ),
        );
      case "not":
        return new Set(
          Array.from({ length: bytes.length - start + 1 }, (_, i) => start + i).filter((end) => !endsOf(expression.item, start).has(end)),
        );
      case "automaton": {
        const found = new Set<number>();
        let state = expression.states[0];
        for (let at = start; state !== undefined; at++) {
          if (state.isAccepting) found.add(at);
          const byte = bytes[at];
          const step: readonly number[] | undefined = state.next.find(([a, b]) => byte !== undefined && a <= byte && byte <= b);
          state = step === undefined ? undefined : expression.states[step[2]!];
        }
        return found;
      }
      case "terminal":
        return endsOf(expression.item, start);
      case "reference":
        return endsOf(grammar.rules[expression.name] as Expression, start);
    }
  };
  while (hasGrown) {
    hasGrown = false;
    seen = new Map();
    endsOf(grammar.start, 0);
  }
  return ends.get(grammar.start)!.get(0)!.has(bytes.length);
}

const allBytes = vocabulary(
  Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  {},
);

/** Expects that a grammar matches the accepted texts and none of the rejected ones, by definition and as the compiled grammar says. */
export function expectMatches(grammar: Grammar, accepted: readonly string[], rejected: readonly string[]): void {
  const constraint = compile(grammar, allBytes, { budget: { steps: 1e9 } });
  for (const [texts, isAccepted] of [[accepted, true] as const, [rejected, false] as const])
    for (const text of texts) {
      const matcher = constraint.matcher();
      expect(matcher.acceptBytes(new TextEncoder().encode(text)) && matcher.isComplete, `compiled: ${text}`).toBe(isAccepted);
      expect(matches(grammar, text), text).toBe(isAccepted);
    }
}
