import { exceeded } from "../budget.ts";
import { choice, never, repeat, sequence, text } from "../expression/builders.ts";
import type { Expression } from "../expression/types.ts";
import { elementAt } from "../lookup.ts";
import type { ArrayShape } from "./arrayShape.ts";
import { opposite } from "./formula.ts";
import type { State } from "./state.ts";
import type { Writer } from "./writer.ts";

/** States of one array whose items are counted or have to be unique. */
const maximumStates = 2048;

/** Returns the expression for the arrays of `shape`. */
export function emitArray(shape: ArrayShape, writer: Writer, level: number): Expression {
  if (shape.min > shape.max) return never;
  if (shape.unique !== undefined) return sequence(["[", new UniqueItems(shape, shape.unique, writer, level).items([]), "]"]);
  if (shape.contains.length > 0) return sequence(["[", new CountedItems(shape, writer, level).items(shape.contains.map(() => 0)), "]"]);
  return sequence(["[", plainItems(shape, writer, level), "]"]);
}

function lead(writer: Writer, level: number, i: number): Expression {
  return i === 0 ? writer.style.first(level) : writer.style.comma(level);
}

function plainItems({ prefix, rest, min, max }: ArrayShape, writer: Writer, level: number): Expression {
  const { style } = writer;
  const end = style.last(level);
  const positions = Math.min(prefix.length, max);
  let tail: Expression = end;
  if (max > positions) {
    const item = writer.value(rest, level);
    const [from, to] = [Math.max(0, min - positions), max - positions];
    const more = repeat(sequence([style.comma(level), item]), positions > 0 ? from : Math.max(0, from - 1), positions > 0 ? to : to - 1);
    tail = positions > 0 ? sequence([more, end]) : sequence([style.first(level), item, more, end]);
    if (positions === 0 && min === 0) return choice([style.inside, tail]);
  } else if (positions === 0) return style.inside;
  const items: Expression[] = [];
  for (const [i, state] of [...prefix.slice(0, positions).entries()].toReversed()) {
    const item = sequence([lead(writer, level, i), writer.value(state, level)]);
    if (i < min) items.unshift(item);
    else tail = writer.rule(choice([i === 0 ? style.inside : end, sequence([item, tail])]));
  }
  return sequence([...items, tail]);
}

/** Steps through an array from one item to the next, with one rule for each progress. */
abstract class Stepping<Progress> {
  protected readonly shape: ArrayShape;
  protected readonly writer: Writer;
  protected readonly level: number;
  /** Items after which the position no longer matters. */
  readonly #lastPosition: number;
  readonly #rules = new Map<string, Expression>();
  readonly #open: (() => void)[] = [];

  constructor(shape: ArrayShape, writer: Writer, level: number) {
    this.shape = shape;
    this.writer = writer;
    this.level = level;
    const { prefix, min, max, contains } = shape;
    this.#lastPosition = Math.max(1, prefix.length, max === Infinity ? min : max, ...contains.map(({ from }) => from));
  }

  /** What may follow `progress`: items, each with the progress after it. */
  protected abstract steps(position: number, progress: Progress): Iterable<readonly [item: Expression, after: Progress]>;
  protected abstract isComplete(progress: Progress): boolean;
  protected abstract refuse(): Error;

  protected stateAt(position: number): State {
    return this.shape.prefix[position] ?? this.shape.rest;
  }

  items(start: Progress): Expression {
    const first = this.#from(0, start);
    for (let define = this.#open.pop(); define !== undefined; define = this.#open.pop()) define();
    return first;
  }

  #from(position: number, progress: Progress): Expression {
    const key = `${position} ${JSON.stringify(progress)}`;
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    if (this.#rules.size >= maximumStates) throw this.refuse();
    const { rule, define } = this.writer.later();
    this.#rules.set(key, rule);
    this.#open.push(() => define(choice(this.#alternatives(position, progress))));
    return rule;
  }

  #alternatives(position: number, progress: Progress): Expression[] {
    const { min, max } = this.shape;
    const { style } = this.writer;
    const alternatives: Expression[] = [];
    if (position >= min && this.isComplete(progress)) alternatives.push(position === 0 ? style.inside : style.last(this.level));
    if (position >= max) return alternatives;
    const before = lead(this.writer, this.level, position);
    const next = max === Infinity ? Math.min(position + 1, this.#lastPosition) : position + 1;
    for (const [item, after] of this.steps(position, progress)) alternatives.push(sequence([before, item, this.#from(next, after)]));
    return alternatives;
  }
}

/** Arrays of which some items are counted, as `contains` demands. */
class CountedItems extends Stepping<readonly number[]> {
  *steps(position: number, counts: readonly number[]): Generator<readonly [Expression, readonly number[]]> {
    for (let counted = 0; counted < 2 ** counts.length; counted++) {
      const contains = this.shape.contains.map((each, i) => {
        const isCounted = ((counted >> i) & 1) === 1;
        return { ...each, isCounted, after: elementAt(counts, i) + Number(isCounted) };
      });
      // Items that need not be counted are not told apart.
      const isUseful = contains.every(
        ({ from, min, max, isCounted, after }) => !isCounted || (position >= from && after <= (max === Infinity ? min : max)),
      );
      if (!isUseful) continue;
      const literals = contains.map(({ from, literal, max, isCounted }) => {
        if (position < from) return undefined;
        return isCounted ? literal : max === Infinity ? undefined : opposite(literal);
      });
      const state = this.writer.states.state([...this.stateAt(position).literals, ...literals]);
      const isPossible = this.stateAt(position) !== this.writer.states.impossible && state !== this.writer.states.impossible;
      if (isPossible) yield [this.writer.value(state, this.level), contains.map(({ after }) => after)];
    }
  }

  isComplete(counts: readonly number[]): boolean {
    return this.shape.contains.every(({ min }, i) => elementAt(counts, i) >= min);
  }

  refuse(): Error {
    return exceeded(`an array with contains of at most ${maximumStates} states`, "more");
  }
}

/** Arrays of items that differ, each of which has few possible values. Progress is the values so far. */
class UniqueItems extends Stepping<readonly string[]> {
  readonly #refusal: Error;

  constructor(shape: ArrayShape, refusal: Error, writer: Writer, level: number) {
    super(shape, writer, level);
    this.#refusal = refusal;
  }

  *steps(position: number, used: readonly string[]): Generator<readonly [Expression, readonly string[]]> {
    const state = this.stateAt(position);
    const texts = this.shape.contains.length > 0 ? undefined : this.writer.states.finiteTexts(state);
    if (texts === undefined) throw this.refuse();
    for (const value of texts) if (!used.includes(value)) yield [text(value), [...used, value].sort()];
  }

  isComplete(): boolean {
    return true;
  }

  refuse(): Error {
    return this.#refusal;
  }
}
