import { exceeded } from "../budget.ts";
import { choice, never, repeat, sequence, text } from "../expression/builders.ts";
import type { Expression } from "../expression/types.ts";
import { elementAt } from "../lookup.ts";
import type { NamedProperty, ObjectShape, OtherProperties } from "./objectShape.ts";
import type { Writer } from "./writer.ts";

/** Order of properties: as the schema names them, or any. */
export type Order = "schema" | "any";

/** States of one object while its properties may come in any order. */
const maximumStates = 1200;

/** Returns the expression for the objects of `shape`. */
export function emitObject(shape: ObjectShape, writer: Writer, level: number, order: Order): Expression {
  const members = order === "schema" ? new OrderedMembers(shape, writer, level) : new UnorderedMembers(shape, writer, level);
  return sequence(["{", members.all(), "}"]);
}

/** The parts that objects in any order are written from. */
class Members {
  protected readonly shape: ObjectShape;
  protected readonly writer: Writer;
  protected readonly level: number;

  constructor(shape: ObjectShape, writer: Writer, level: number) {
    this.shape = shape;
    this.writer = writer;
    this.level = level;
  }

  protected named({ name, state }: NamedProperty): Expression {
    return sequence([text(JSON.stringify(name)), this.writer.style.colon, this.writer.value(state, this.level)]);
  }

  /** One property out of `others`. */
  protected other(others: readonly OtherProperties[]): Expression {
    const { style } = this.writer;
    return choice(
      others.map(({ keys, state }) => sequence([this.writer.terminal(keys), style.colon, this.writer.value(state, this.level)])),
    );
  }

  /** What precedes a property. */
  protected lead(isFirst: boolean): Expression {
    return isFirst ? this.writer.style.first(this.level) : this.writer.style.comma(this.level);
  }

  /** What follows the last property. */
  protected end(isEmpty: boolean): Expression {
    return isEmpty ? this.writer.style.inside : this.writer.style.last(this.level);
  }
}

/** Named properties in the order of the schema, and then the others. */
class OrderedMembers extends Members {
  /** Properties up to which the number of those written matters. */
  readonly #cap: number;
  /** Properties that have to be there, if the required ones are not enough. */
  readonly #min: number;

  constructor(shape: ObjectShape, writer: Writer, level: number) {
    super(shape, writer, level);
    const { names, others, min, max } = shape;
    this.#min = min > names.filter(({ isRequired }) => isRequired).length ? min : 0;
    const isBounded = max < names.length || (others.length > 0 && max < Infinity);
    // The first property counts in any case: no comma precedes it.
    this.#cap = Math.max(1, Math.min(isBounded ? max : this.#min, names.length));
  }

  all(): Expression {
    const { names } = this.shape;
    let after = this.#tails();
    for (const [i, property] of [...names.entries()].toReversed()) after = this.#before(property, i, after);
    return elementAt(after, 0);
  }

  /** What follows the named properties, by how many of them there are. */
  #tails(): Expression[] {
    const { others, witnesses, max } = this.shape;
    return Array.from({ length: this.#cap + 1 }, (_, count) => {
      const missing = Math.max(0, this.#min - count);
      const left = max - count;
      if (left < 0) return never;
      if (witnesses !== undefined) return this.writer.rule(this.#withWitness(count === 0, left, witnesses));
      const isEnough = missing === 0 ? [this.end(count === 0)] : [];
      if (others.length === 0 || left < Math.max(1, missing)) return choice(isEnough);
      return this.writer.rule(choice([...isEnough, this.#some(count === 0, Math.max(1, missing), left)]));
    });
  }

  /** Between `min` (at least 1) and `max` other properties. */
  #some(isFirst: boolean, min: number, max: number): Expression {
    const other = this.writer.rule(this.other(this.shape.others));
    return sequence([this.lead(isFirst), other, repeat(sequence([this.lead(false), other]), min - 1, max - 1), this.end(false)]);
  }

  /** Up to `max` other properties, of which one is a witness. */
  #withWitness(isFirst: boolean, max: number, witnesses: readonly OtherProperties[]): Expression {
    if (max < 1) return never;
    const witness = this.writer.rule(this.other(witnesses));
    const other = this.writer.rule(this.other(this.shape.others));
    const more = (count: number) => repeat(sequence([this.lead(false), other]), 0, count);
    if (max === Infinity) {
      const before = choice([witness, sequence([other, more(Infinity), this.lead(false), witness])]);
      return sequence([this.lead(isFirst), before, more(Infinity), this.end(false)]);
    }
    if (max > maximumStates) throw exceeded(`maxProperties of at most ${maximumStates} where some property must exist`, `${max}`);
    const before = Array.from({ length: max }, (_, count) => {
      const head =
        count === 0
          ? witness
          : sequence([other, repeat(sequence([this.lead(false), other]), count - 1, count - 1), this.lead(false), witness]);
      return sequence([head, more(max - 1 - count)]);
    });
    return sequence([this.lead(isFirst), choice(before), this.end(false)]);
  }

  /** What follows the `i` named properties before `property`, by how many of them there are. */
  #before(property: NamedProperty, i: number, after: readonly Expression[]): Expression[] {
    const { isRequired } = property;
    const named = this.named(property);
    const most = Math.min(i, this.#cap);
    return Array.from({ length: most + 1 }, (_, count) => {
      const next = elementAt(after, Math.min(count + 1, this.#cap));
      const absent = elementAt(after, count);
      if (count === this.#cap && this.#isFull(count)) return isRequired ? never : absent;
      const present = sequence([this.lead(count === 0), named, next]);
      return isRequired ? present : this.writer.rule(choice([present, absent]));
    });
  }

  #isFull(count: number): boolean {
    return count >= this.shape.max;
  }
}

/** What an object has so far: which named properties, how many others (as far as that matters), and whether a witness is among them. */
interface Progress {
  readonly names: number;
  readonly others: number;
  readonly hasWitness: boolean;
}

/** Properties in any order, each named one at most once. */
class UnorderedMembers extends Members {
  readonly #known = new Map<string, Expression>();

  all(): Expression {
    if (this.shape.names.length > 30)
      throw exceeded(`order "any" with at most 30 named properties in an object`, `${this.shape.names.length}`);
    return this.#from({ names: 0, others: 0, hasWitness: this.shape.witnesses === undefined });
  }

  #from(progress: Progress): Expression {
    const key = `${progress.names} ${progress.others} ${progress.hasWitness}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { rule, define } = this.writer.later();
    this.#known.set(key, rule);
    if (this.#known.size > maximumStates) throw exceeded(`order "any" with at most ${maximumStates} combinations of properties`, "more");
    define(choice([...this.#ending(progress), ...this.#continuations(progress)]));
    return rule;
  }

  #ending({ names, others, hasWitness }: Progress): Expression[] {
    const count = bitCount(names) + others;
    const isMissing = this.shape.names.some(({ isRequired }, i) => isRequired && !isIn(names, i));
    return isMissing || !hasWitness || count < this.shape.min ? [] : [this.end(count === 0)];
  }

  #continuations({ names, others, hasWitness }: Progress): Expression[] {
    const { max, witnesses } = this.shape;
    const count = bitCount(names) + others;
    if (count >= max) return [];
    const lead = this.lead(count === 0);
    const parts = this.shape.names.flatMap((property, i) => {
      if (isIn(names, i)) return [];
      return [sequence([lead, this.named(property), this.#from({ names: names | (1 << i), others, hasWitness })])];
    });
    if (this.shape.others.length > 0) {
      // Without an upper bound, one other property is as good as many: minProperties never needs more than one.
      const more = max === Infinity ? 1 : others + 1;
      parts.push(sequence([lead, this.other(this.shape.others), this.#from({ names, others: more, hasWitness })]));
      if (!hasWitness && witnesses !== undefined)
        parts.push(sequence([lead, this.other(witnesses), this.#from({ names, others: more, hasWitness: true })]));
    }
    return parts;
  }
}

function isIn(set: number, i: number): boolean {
  return ((set >> i) & 1) === 1;
}

function bitCount(set: number): number {
  let count = 0;
  for (let bits = set; bits !== 0; bits &= bits - 1) count++;
  return count;
}
