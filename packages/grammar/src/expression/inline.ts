import type { Meter } from "../budget.ts";
import { choice, isRegular, repeat, sequence } from "./builders.ts";
import type { Expression, Grammar } from "./types.ts";

/**
 * The same grammar with each rule that does not depend on recursion in place of the references to it. So a grammar without recursion becomes
 * one expression. The rules that remain depend on recursive ones.
 */
export function inlineRegularRules({ start, rules }: Grammar, meter: Meter): Grammar {
  const remaining = new Map(Object.entries(rules));
  const regular = new Map<string, Expression>();
  const uses = new Map([...remaining].map(([name, body]) => [name, referencesIn(body)]));
  for (const name of orderOfUse(uses)) {
    meter.work(10);
    regular.set(name, inlined(remaining.get(name) as Expression, regular));
    remaining.delete(name);
  }
  return {
    start: inlined(start, regular),
    rules: Object.fromEntries([...remaining].map(([name, body]) => [name, inlined(body, regular)])),
  };
}

/** Names of rules that are not recursive and use no recursive rule, each after those that it uses. `uses` has what each rule uses. */
export function orderOfUse(uses: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const users = new Map<string, string[]>([...uses.keys()].map((name) => [name, []]));
  const unresolved = new Map([...uses].map(([name, used]) => [name, used.size]));
  for (const [name, used] of uses) for (const other of used) users.get(other)?.push(name);
  const ordered = [...uses.keys()].filter((name) => unresolved.get(name) === 0);
  for (const name of ordered)
    for (const user of users.get(name) as string[]) {
      const left = (unresolved.get(user) as number) - 1;
      unresolved.set(user, left);
      if (left === 0) ordered.push(user);
    }
  return ordered;
}

function referencesIn(expression: Expression): Set<string> {
  const names = new Set<string>();
  addReferences(expression, names);
  return names;
}

function addReferences(expression: Expression, names: Set<string>): void {
  if (isRegular(expression)) return;
  if (expression.kind === "reference") names.add(expression.name);
  else if (expression.kind === "repeat") addReferences(expression.item, names);
  else if (expression.kind === "sequence" || expression.kind === "choice") for (const item of expression.items) addReferences(item, names);
}

function inlined(expression: Expression, bodies: ReadonlyMap<string, Expression>): Expression {
  if (isRegular(expression)) return expression;
  switch (expression.kind) {
    case "reference":
      return bodies.get(expression.name) ?? expression;
    case "repeat":
      return repeat(inlined(expression.item, bodies), expression.min, expression.max);
    case "sequence":
      return sequence(expression.items.map((item) => inlined(item, bodies)));
    case "choice":
      return choice(expression.items.map((item) => inlined(item, bodies)));
    default:
      return expression;
  }
}
