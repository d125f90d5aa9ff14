import type { Regular } from "../expression/types.ts";
import type { Literal } from "./formula.ts";

/** The values that some schemas allow together. Equal sets of schemas are one object. */
export interface State {
  readonly key: string;
  readonly literals: readonly Literal[];
}

/** Makes states, and decides about the texts of scalars and property names. */
export interface StateSpace {
  /** The state without values. */
  readonly impossible: State;
  /** Returns the state of values that all `literals` allow. */
  state(literals: Iterable<Literal | undefined>): State;
  /** Returns the strings that `literal` allows. */
  strings(literal: Literal): Regular;
  /** Returns the texts of the values in `state` if they are few scalars, one for each value. */
  finiteTexts(state: State): readonly string[] | undefined;
  /** Returns whether `regular` matches no text. */
  isNever(regular: Regular): boolean;
  /** Records that `regular` matches some text, which saves a search. */
  live(regular: Regular): Regular;
  /** Returns whether `regular` matches `text`. */
  matches(regular: Regular, text: string): boolean;
}
