import type { Meter } from "../budget.ts";
import { reference } from "./builders.ts";
import { referencesIn, replaceReferences } from "./references.ts";
import type { Expression, Grammar } from "./types.ts";

/**
 * The same grammar with each rule that does not depend on recursion in place of the references to it. So a grammar without recursion becomes
 * one expression. The rules that remain depend on recursive ones.
 */
export function inlineRegularRules({ start, rules }: Grammar, meter: Meter): Grammar {
  const remaining = new Map(Object.entries(rules));
  const bodies = new Map<string, Expression>();
  const inlined = (expression: Expression) => replaceReferences(expression, (name) => bodies.get(name) ?? reference(name));
  const uses = new Map([...remaining].map(([name, body]) => [name, referencesIn(body)]));
  for (const name of orderOfUse(uses)) {
    meter.work(10);
    bodies.set(name, inlined(remaining.get(name) as Expression));
    remaining.delete(name);
  }
  return {
    start: inlined(start),
    rules: Object.fromEntries([...remaining].map(([name, body]) => [name, inlined(body)])),
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
