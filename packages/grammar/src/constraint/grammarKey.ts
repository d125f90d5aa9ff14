import type { Meter } from "../budget.ts";
import { ruleNamed } from "../expression/references.ts";
import type { Expression, Grammar } from "../expression/types.ts";
import { entryOf } from "../lookup.ts";

/**
 * A text that two grammars share exactly if they have the same structure, rules that nothing refers to apart. Parts that occur several times
 * are spelled once.
 */
export function grammarKey({ start, rules }: Grammar, meter: Meter): string {
  const numbers = new Map<Expression, number>();
  const forms = new Map<string, number>();
  const names = new Set<string>();
  const number = (root: Expression): number => {
    const stack = [root];
    for (let each = stack.at(-1); each !== undefined; each = stack.at(-1)) {
      const missing = numbers.has(each) ? [] : childrenOf(each).filter((child) => !numbers.has(child));
      for (const child of missing) stack.push(child);
      if (missing.length > 0) continue;
      stack.pop();
      if (numbers.has(each)) continue;
      if (each.kind === "reference") names.add(each.name);
      const form = formOf(each, numbers);
      meter.charge(form.length);
      const known = forms.get(form) ?? forms.size;
      forms.set(form, known);
      numbers.set(each, known);
    }
    return entryOf(numbers, root);
  };
  const roots = [`${number(start)}`];
  for (const name of names) {
    const rule = ruleNamed(rules, name);
    if (rule !== undefined) roots.push(`${JSON.stringify(name)}=${number(rule)}`);
  }
  return `${[...forms.keys()].join("\n")}\n${roots.join()}`;
}

function childrenOf(expression: Expression): readonly Expression[] {
  if ("items" in expression) return expression.items;
  return "item" in expression ? [expression.item] : [];
}

/** The expression as a text, with numbers for its parts. */
function formOf(expression: Expression, numbers: ReadonlyMap<Expression, number>): string {
  const parts = childrenOf(expression).map((child) => entryOf(numbers, child));
  if (!("items" in expression || "item" in expression)) return JSON.stringify(expression);
  const counts = expression.kind === "repeat" ? ` ${expression.min} ${expression.max}` : "";
  return `${expression.kind} ${expression.isRegular}${counts} ${parts}`;
}
