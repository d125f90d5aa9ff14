import { entryOf } from "@centella/core/backend";
import type { Expression } from "../expression.ts";
import { activations } from "./activations.ts";
import { arithmetic } from "./arithmetic.ts";
import { logic } from "./logic.ts";
import type { ExpressionTable } from "./table.ts";

/** Elementwise ops that language models commonly use. The remaining ones are loaded on first use: see arrayKernels.ts. */
export const expressions: ExpressionTable = { ...arithmetic, ...activations, ...logic };

const known = new Map(Object.entries(expressions) as [string, Expression][]);

/** Adds expressions that were loaded on first use. */
export function addExpressions(loaded: ExpressionTable): void {
  for (const [op, expression] of Object.entries(loaded)) known.set(op, expression as Expression);
}

/** Returns the expression of an op, or undefined if the op has none or it is not loaded yet. */
export function expressionOf(op: string): Expression | undefined {
  return known.get(op);
}

/** Returns the expression of an elementwise op whose code is loaded. */
export function loadedExpression(op: string): Expression {
  return entryOf(known, op);
}
