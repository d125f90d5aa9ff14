import { Budget, TextBuilder } from "./budget.ts";
import { dataLength, fromData } from "./fromData.ts";
import { globals } from "./globals.ts";
import { tokenize } from "./lexer.ts";
import { type Run, Scope } from "./scope.ts";
import { type Statement, StatementParser } from "./statements.ts";
import type { Text } from "./text.ts";
import { TokenStream } from "./tokenStream.ts";

/** Compiles a template into closures. @throws {SyntaxFault} */
export function compile(source: string): Statement {
  return new StatementParser(new TokenStream(tokenize(source))).template();
}

/**
 * Renders a compiled template. Strings in `variables` are content, unless they already are a `Text`.
 * @param run receives the source offset at which the template failed
 * @throws {EvaluationError | LimitError | RaisedException}
 */
export function render(template: Statement, variables: Readonly<Record<string, unknown>>, now: Date, run: { at: number }): Text {
  const budget = new Budget(dataLength(variables));
  const state = Object.assign(run, { budget }) satisfies Run;
  const scope = new Scope(state);
  for (const [name, value] of globals(now)) scope.set(name, value);
  for (const [name, value] of Object.entries(variables)) scope.set(name, fromData(value));
  const out = new TextBuilder(budget);
  template(scope.inner(), out);
  return out.done();
}
