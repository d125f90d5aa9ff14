import type { Expression } from "../expression.ts";
import { activations } from "./activations.ts";
import { arithmetic } from "./arithmetic.ts";
import { exponential } from "./exponential.ts";
import { logic } from "./logic.ts";
import type { ExpressionTable } from "./table.ts";
import { trigonometric } from "./trigonometric.ts";

/** Every op that computes element by element. */
export const expressions: ExpressionTable = { ...arithmetic, ...activations, ...exponential, ...trigonometric, ...logic };

/** The expression of an op, its parameter type erased. */
export function expressionOf(op: string): Expression | undefined {
  return Object.hasOwn(expressions, op) ? (expressions[op as keyof typeof expressions] as Expression) : undefined;
}
