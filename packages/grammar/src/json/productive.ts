import type { Meter } from "../budget.ts";
import { choice, empty, isRegular, never, repeat, sequence } from "../expression/builders.ts";
import { referencesIn } from "../expression/references.ts";
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
  if (isRegular(expression)) return !context.isNever(expression);
  switch (expression.kind) {
    case "sequence":
      return expression.items.every((item) => isProductive(item, productive, context));
    case "choice":
      return expression.items.some((item) => isProductive(item, productive, context));
    case "repeat":
      return expression.min === 0 || isProductive(expression.item, productive, context);
    case "terminal":
      return !context.isNever(expression.item);
    case "reference":
      return productive.has(expression.name);
  }
}

/** Returns the part of `expression` that matches some text; `never` if there is none. */
function restricted(expression: Expression, productive: ReadonlySet<string>, context: Context): Expression {
  if (!isProductive(expression, productive, context)) return never;
  if (isRegular(expression)) return expression;
  const kept = (item: Expression): Expression => restricted(item, productive, context);
  switch (expression.kind) {
    case "sequence":
      return sequence(expression.items.map(kept));
    case "choice":
      return choice(expression.items.map(kept).filter((item) => item !== never));
    case "repeat": {
      const item = kept(expression.item);
      return item === never ? empty : repeat(item, expression.min, expression.max);
    }
    default:
      return expression;
  }
}
