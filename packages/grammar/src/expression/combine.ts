import { argumentError, objectOf, shown } from "../checks.ts";
import { expressionOf, reference } from "./builders.ts";
import { replaceReferences } from "./references.ts";
import type { Expression, Grammar } from "./types.ts";

/**
 * A grammar made of other grammars, such as the schemas of several tools:
 *
 *     combine({ add: fromJsonSchema(a), now: fromJsonSchema(b) }, ({ add, now }) => choice([add, now]))
 *
 * @param grammars The grammars, by names that `build` uses. Their rules get names that begin with theirs.
 * @param build Returns where the result starts, given an expression for each grammar.
 */
export function combine<Name extends string>(
  grammars: Readonly<Record<Name, Grammar>>,
  build: (parts: Readonly<Record<Name, Expression>>) => Expression,
): Grammar {
  if (typeof build !== "function") throw argumentError("combine", "a function that returns an expression", shown(build));
  const rules: [name: string, body: Expression][] = [];
  const parts = Object.entries<Grammar>(objectOf("combine", "grammars by their names", grammars)).map(([name, grammar]) => {
    const given = objectOf("combine", "grammars { start, rules }", grammar);
    for (const each of [given.start, ...Object.values(objectOf("combine", "rules by their names", given.rules))]) expressionOf(each);
    const { start, rules: own } = withPrefix(grammar, `${name}/`);
    rules.push(...Object.entries(own));
    return [name, start];
  });
  return { start: expressionOf(build(Object.fromEntries(parts))), rules: Object.fromEntries(rules) };
}

/** The same grammar, with other names for its rules. */
export function withPrefix({ start, rules }: Grammar, prefix: string): Grammar {
  const renamed = (expression: Expression) => replaceReferences(expression, (name) => reference(prefix + name));
  return { start: renamed(start), rules: Object.fromEntries(Object.entries(rules).map(([name, body]) => [prefix + name, renamed(body)])) };
}
