import type { Meter } from "../budget.ts";
import { choice, empty, isRegular, never, repeat, sequence } from "../expression/builders.ts";
import { mapped, referencesIn } from "../expression/references.ts";
import type { Expression, Grammar, Regular } from "../expression/types.ts";
import { entryOf } from "../lookup.ts";

/** What is known of regular expressions, and what the work is charged to. */
interface Context {
  readonly meter: Meter;
  isNever(regular: Regular): boolean;
}

/** Units of work for one rule. */
const ruleWork = 10;

/** Returns `grammar` without what cannot be finished: parts of which no text is finite, and rules that are not used. */
export function productiveOf(grammar: Grammar, context: Context): Grammar {
  const allRules = new Map(Object.entries(grammar.rules));
  const productive = productiveRules(allRules, context);
  const kept = (expression: Expression): Expression => restricted(expression, productive, context);
  const start = kept(grammar.start);
  const rules: Record<string, Expression> = {};
  const open = [...referencesIn(start)];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (rules[name] !== undefined) continue;
    context.meter.work(ruleWork);
    const rule = kept(entryOf(allRules, name));
    rules[name] = rule;
    open.push(...referencesIn(rule));
  }
  return { start, rules };
}

/** Names of the rules that match some text. */
function productiveRules(rules: ReadonlyMap<string, Expression>, context: Context): ReadonlySet<string> {
  const productive = new Set<string>();
  const users = new Map<string, string[]>();
  for (const [name, rule] of rules) {
    context.meter.work(ruleWork);
    for (const used of referencesIn(rule)) {
      const list = users.get(used);
      if (list === undefined) users.set(used, [name]);
      else list.push(name);
    }
  }
  const open = [...rules.keys()];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    context.meter.work(ruleWork);
    if (productive.has(name) || !isProductive(entryOf(rules, name), productive, context)) continue;
    productive.add(name);
    open.push(...(users.get(name) ?? []));
  }
  return productive;
}

function isProductive(expression: Expression, productive: ReadonlySet<string>, context: Context): boolean {
  return mapped<boolean>(expression, (part, known) => {
    if (isRegular(part)) return !context.isNever(part);
    switch (part.kind) {
      case "sequence":
        return part.items.every((item) => entryOf(known, item));
      case "choice":
        return part.items.some((item) => entryOf(known, item));
      case "repeat":
        return part.min === 0 || entryOf(known, part.item);
      case "terminal":
        return !context.isNever(part.item);
      case "reference":
        return productive.has(part.name);
    }
  });
}

/** Returns the part of `expression` that matches some text; `never` if there is none. */
function restricted(expression: Expression, productive: ReadonlySet<string>, context: Context): Expression {
  return mapped<Expression>(expression, (part, known) => {
    const kept = (item: Expression): Expression => entryOf(known, item);
    if (isRegular(part)) return context.isNever(part) ? never : part;
    switch (part.kind) {
      case "sequence":
        return part.items.some((item) => kept(item) === never) ? never : sequence(part.items.map(kept));
      case "choice": {
        const items = part.items.map(kept).filter((item) => item !== never);
        return items.length === 0 ? never : choice(items);
      }
      case "repeat": {
        const item = kept(part.item);
        if (item === never) return part.min === 0 ? empty : never;
        return repeat(item, part.min, part.max);
      }
      case "terminal":
        return context.isNever(part.item) ? never : part;
      case "reference":
        return productive.has(part.name) ? part : never;
    }
  });
}
