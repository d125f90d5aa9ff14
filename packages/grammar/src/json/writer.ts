import type { Expression, Regular } from "../expression/types.ts";
import type { State, StateSpace } from "./state.ts";
import type { Style } from "./style.ts";

/** What the expressions of arrays and objects are written with. */
export interface Writer {
  readonly states: StateSpace;
  readonly style: Style;
  /** Returns the expression for the values in `state`, inside as many arrays and objects as `level` says. */
  value(state: State, level: number): Expression;
  /** Returns a terminal of its own, which all its uses share. */
  terminal(regular: Regular): Expression;
  /** Returns a reference to a new rule for `expression`. */
  rule(expression: Expression): Expression;
  /** Returns a reference to a rule that is defined afterwards. */
  later(): { readonly rule: Expression; readonly define: (expression: Expression) => void };
}
