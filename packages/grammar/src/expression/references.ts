import { elementAt, entryOf } from "../lookup.ts";
import { choice, isRegular, repeat, sequence } from "./builders.ts";
import type { Expression, Grammar } from "./types.ts";

/** The rule of that name, if there is one. */
export function ruleNamed(rules: Grammar["rules"], name: string): Expression | undefined {
  return Object.hasOwn(rules, name) ? rules[name] : undefined;
}

/** Names of the rules that an expression refers to. */
export function referencesIn(expression: Expression): Set<string> {
  const names = new Set<string>();
  const seen = new Set([expression]);
  for (const each of seen) {
    if (each.kind === "reference") names.add(each.name);
    for (const part of partsOf(each)) seen.add(part);
  }
  return names;
}

/** The expression with each reference replaced. Parts that occur several times stay shared. */
export function replaceReferences(expression: Expression, replacement: (name: string) => Expression): Expression {
  return mapped(expression, (each, replaced) => (each.kind === "reference" ? replacement(each.name) : withParts(each, replaced)));
}

/**
 * What `visit` returns for an expression. It is called for each part in which references may be, after it was called for the part's own parts,
 * whose results it is given. Expressions may be nested deeply, so this does not recurse.
 */
export function mapped<T>(expression: Expression, visit: (each: Expression, results: ReadonlyMap<Expression, T>) => T): T {
  const results = new Map<Expression, T>();
  const pending = [expression];
  for (let last = pending.at(-1); last !== undefined; last = pending.at(-1)) {
    const missing = partsOf(last).filter((part) => !results.has(part));
    for (const part of missing) pending.push(part);
    if (missing.length > 0) continue;
    pending.pop();
    if (!results.has(last)) results.set(last, visit(last, results));
  }
  return entryOf(results, expression);
}

/** Parts in which references may be. */
function partsOf(expression: Expression): readonly Expression[] {
  if (isRegular(expression)) return [];
  if (expression.kind === "sequence" || expression.kind === "choice") return expression.items;
  return expression.kind === "repeat" ? [expression.item] : [];
}

function withParts(expression: Expression, replaced: ReadonlyMap<Expression, Expression>): Expression {
  const parts = partsOf(expression).map((part) => entryOf(replaced, part));
  if (parts.length === 0) return expression;
  if (expression.kind === "repeat") return repeat(elementAt(parts, 0), expression.min, expression.max);
  return expression.kind === "sequence" ? sequence(parts) : choice(parts);
}
