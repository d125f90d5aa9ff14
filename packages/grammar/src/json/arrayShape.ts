import type { GrammarError } from "../errors.ts";
import type { Clause } from "./clauses.ts";
import type { ArrayAtom } from "./formula.ts";
import type { State, StateSpace } from "./state.ts";

type Contains = ArrayAtom & { kind: "contains" };

/** The arrays that meet a clause. */
export interface ArrayShape {
  /** Items by position. */
  readonly prefix: readonly State[];
  /** Items beyond the prefix. */
  readonly rest: State;
  readonly min: number;
  readonly max: number;
  readonly contains: readonly Contains[];
  /** Why unique items cannot be enforced, where they have to be unique and it turns out that they cannot. */
  readonly unique: GrammarError | undefined;
}

/** Returns the arrays that meet `clause`. @throws {GrammarError} if a condition of it is refused */
export function arrayShape(clause: Clause, states: StateSpace): ArrayShape {
  let min = 0;
  let max = Infinity;
  let unique: GrammarError | undefined;
  const contains: Contains[] = [];
  const lists: (ArrayAtom & { kind: "items" })[] = [];
  for (const { atom } of clause) {
    if (atom.kind === "refused") throw atom.error;
    if (atom.kind === "unique") unique = atom.error;
    if (atom.kind === "contains") contains.push(atom);
    if (atom.kind === "items") lists.push(atom);
    if (atom.kind === "size") {
      min = Math.max(min, atom.min);
      max = Math.min(max, atom.max);
    }
  }
  const length = Math.max(0, ...lists.map(({ prefix }) => prefix.length));
  const at = (i: number) => states.state(lists.map(({ prefix, rest }) => (i < prefix.length ? prefix[i] : rest)));
  const needed = contains.map(({ from, min: count }) => (count > 0 ? from + count : 0));
  return {
    prefix: Array.from({ length }, (_, i) => at(i)),
    rest: at(length),
    min: Math.max(min, ...needed),
    max,
    contains: contains.filter((each) => each.min > 0 || each.max < Infinity),
    unique: max > 1 ? unique : undefined,
  };
}
