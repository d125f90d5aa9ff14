import type { Meter } from "../budget.ts";
import type { Expression, Grammar } from "../expression/types.ts";

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
    while (stack.length > 0) {
      const each = stack.at(-1)!;
      const missing = numbers.has(each) ? [] : childrenOf(each).filter((child) => !numbers.has(child));
      for (const child of missing) stack.push(child);
      if (missing.length > 0) continue;
      stack.pop();
      if (numbers.has(each)) continue;
      if (each.kind === "reference") names.add(each.name);
      const form = formOf(each, numbers);
      meter.charge(form.length);
      if (!forms.has(form)) forms.set(form, forms.size);
      numbers.set(each, forms.get(form)!);
    }
    return numbers.get(root)!;
  };
  const roots = [`${number(start)}`];
  for (const name of names) if (Object.hasOwn(rules, name)) roots.push(`${JSON.stringify(name)}=${number(rules[name]!)}`);
  return `${[...forms.keys()].join("\n")}\n${roots.join()}`;
}

function childrenOf(expression: Expression): readonly Expression[] {
  if ("items" in expression) return expression.items;
  return "item" in expression ? [expression.item] : [];
}

/** The expression as a text, with numbers for its parts. */
function formOf(expression: Expression, numbers: ReadonlyMap<Expression, number>): string {
  const parts = childrenOf(expression).map((child) => numbers.get(child)!);
  if (!("items" in expression || "item" in expression)) return JSON.stringify(expression);
  const counts = expression.kind === "repeat" ? ` ${expression.min} ${expression.max}` : "";
  return `${expression.kind} ${expression.isRegular}${counts} ${parts}`;
}
