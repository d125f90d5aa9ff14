import { choice, empty, isRegular, never, repeat, sequence } from "../expression/builders.ts";
import { referencesIn } from "../expression/references.ts";
import type { Expression, Grammar, Regular } from "../expression/types.ts";

/** Returns `grammar` without what cannot be finished: parts of which no text is finite, and rules that are not used. */
export function productiveOf(grammar: Grammar, isNever: (regular: Regular) => boolean): Grammar {
  const productive = productiveRules(grammar.rules, isNever);
  const kept = (expression: Expression): Expression => restricted(expression, productive, isNever);
  const start = kept(grammar.start);
  const rules: Record<string, Expression> = {};
  const open = [...referencesIn(start)];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (rules[name] !== undefined) continue;
    const rule = kept(grammar.rules[name]!);
    rules[name] = rule;
    open.push(...referencesIn(rule));
  }
  return { start, rules };
}

/** Names of the rules that match some text. */
function productiveRules(rules: Grammar["rules"], isNever: (regular: Regular) => boolean): ReadonlySet<string> {
  const productive = new Set<string>();
  const users = new Map<string, string[]>();
  for (const [name, rule] of Object.entries(rules)) {
    for (const used of referencesIn(rule)) {
      const list = users.get(used);
      if (list === undefined) users.set(used, [name]);
      else list.push(name);
    }
  }
  const open = Object.keys(rules);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (productive.has(name) || !isProductive(rules[name]!, productive, isNever)) continue;
    productive.add(name);
    open.push(...(users.get(name) ?? []));
  }
  return productive;
}

function isProductive(expression: Expression, productive: ReadonlySet<string>, isNever: (regular: Regular) => boolean): boolean {
  if (isRegular(expression)) return !isNever(expression);
  switch (expression.kind) {
    case "sequence":
      return expression.items.every((item) => isProductive(item, productive, isNever));
    case "choice":
      return expression.items.some((item) => isProductive(item, productive, isNever));
    case "repeat":
      return expression.min === 0 || isProductive(expression.item, productive, isNever);
    case "terminal":
      return !isNever(expression.item);
    case "reference":
      return productive.has(expression.name);
  }
}

/** Returns the part of `expression` that matches some text; `never` if there is none. */
function restricted(expression: Expression, productive: ReadonlySet<string>, isNever: (regular: Regular) => boolean): Expression {
  if (!isProductive(expression, productive, isNever)) return never;
  if (isRegular(expression)) return expression;
  const kept = (item: Expression): Expression => restricted(item, productive, isNever);
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
