import type { Budget } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";

/** A template value. A number is a Python int, `undefined` is Jinja's Undefined and `null` is None. */
export type Value = undefined | null | boolean | number | Float | Text | List | Dict | Attributes | Callable;

/** A Python float, even if its value is whole. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A list or a tuple. */
export class List {
  readonly items: Value[];
  readonly isTuple: boolean;
  constructor(items: Value[], isTuple = false) {
    this.items = items;
    this.isTuple = isTuple;
  }
}

/** A key of a {@link Dict} in a form that JavaScript compares by value. */
export type Key = string | number | null | undefined;

/** A mapping, in the order of insertion. */
export class Dict {
  readonly entries: Map<Key, readonly [key: Value, value: Value]> = new Map();

  get(key: Value): Value {
    return this.entries.get(keyOf(key))?.[1];
  }

  has(key: Value): boolean {
    return this.entries.has(keyOf(key));
  }

  set(key: Value, value: Value): this {
    this.entries.set(keyOf(key), [key, value]);
    return this;
  }

  delete(key: Value): void {
    this.entries.delete(keyOf(key));
  }

  /** Its entries as tuples. */
  items(): Value[] {
    return Array.from(this.entries.values(), (entry) => new List([...entry], true));
  }

  keys(): Value[] {
    return Array.from(this.entries.values(), ([key]) => key);
  }

  values(): Value[] {
    return Array.from(this.entries.values(), ([, value]) => value);
  }
}

/** An object with attributes. */
export abstract class Attributes {
  abstract get(name: string): Value;
}

/** Result of `namespace()`. Templates may assign to its attributes. */
export class Namespace extends Attributes {
  readonly #values: Map<string, Value>;

  constructor(values: Map<string, Value>) {
    super();
    this.#values = values;
  }

  get(name: string): Value {
    return this.#values.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }
}

/** Arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** A macro, a method or a function. */
export class Callable {
  readonly call: (args: Arguments, budget: Budget) => Value;
  constructor(call: (args: Arguments, budget: Budget) => Value) {
    this.call = call;
  }
}

/** V8 hashes longer strings by their length alone, so lookups would take time proportional to the size of the mapping. */
const maxKeyLength = 16_000;

function keyOf(key: Value): Key {
  if (key instanceof Text) {
    if (key.length <= maxKeyLength) return key.value;
    throw new EvaluationError(`expected a key of at most ${maxKeyLength} characters, got ${key.length}`);
  }
  if (key === null || key === undefined) return key;
  const number = numberOf(key);
  if (number !== undefined) return number;
  throw new EvaluationError(`expected a string or a number as a key, got ${typeName(key)}`);
}

/** Python's name of a value's type. */
export function typeName(value: Value): string {
  if (value === undefined) return "undefined";
  if (value === null) return "None";
  if (value instanceof Text) return "a string";
  if (value instanceof List) return value.isTuple ? "a tuple" : "a list";
  if (value instanceof Dict) return "a mapping";
  if (typeof value === "boolean") return "a boolean";
  if (typeof value === "number") return "an integer";
  if (value instanceof Float) return "a float";
  return value instanceof Callable ? "a function" : "an object";
}

/** The numeric value of a number or boolean, otherwise undefined. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return value instanceof Float ? value.value : undefined;
}

export function isTrue(value: Value): boolean {
  if (value instanceof Text) return value.length > 0;
  if (value instanceof List) return value.items.length > 0;
  if (value instanceof Dict) return value.entries.size > 0;
  const number = numberOf(value);
  if (number !== undefined) return number !== 0;
  return value !== undefined && value !== null;
}

/** `==`. */
export function areEqual(a: Value, b: Value, budget: Budget): boolean {
  budget.spend(1);
  if (a instanceof Text && b instanceof Text) {
    if (a.length === b.length) budget.spendOnText(a.length);
    return a.value === b.value;
  }
  if (a instanceof List && b instanceof List) {
    return a.isTuple === b.isTuple && a.items.length === b.items.length && a.items.every((item, i) => areEqual(item, b.items[i], budget));
  }
  if (a instanceof Dict && b instanceof Dict) {
    budget.spend(a.entries.size);
    const isIn = ([key, [, value]]: readonly [Key, readonly [Value, Value]]): boolean => {
      const entry = b.entries.get(key);
      return entry !== undefined && areEqual(value, entry[1], budget);
    };
    return a.entries.size === b.entries.size && [...a.entries].every(isIn);
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  return x !== undefined && y !== undefined ? x === y : a === b;
}

/** Compares two values: negative, zero or positive. @throws {EvaluationError} if they have no order */
export function compare(a: Value, b: Value, budget: Budget): number {
  budget.spend(1);
  if (a instanceof Text && b instanceof Text) {
    budget.spendOnText(Math.min(a.length, b.length));
    return a.value < b.value ? -1 : Number(a.value > b.value);
  }
  if (a instanceof List && b instanceof List) {
    for (const [i, item] of a.items.entries()) {
      if (i >= b.items.length) return 1;
      if (!areEqual(item, b.items[i], budget)) return compare(item, b.items[i], budget);
    }
    return a.items.length - b.items.length;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x - y;
  throw new EvaluationError(`expected values that have an order, got ${typeName(a)} and ${typeName(b)}`);
}

/** `needle in value`. */
export function contains(value: Value, needle: Value, budget: Budget): boolean {
  if (value instanceof Text) {
    if (!(needle instanceof Text)) throw new EvaluationError(`expected a string to look for in a string, got ${typeName(needle)}`);
    budget.spendOnSearch(value, needle);
    return value.value.includes(needle.value);
  }
  if (value instanceof Dict) return value.has(needle);
  return elementsOf(value, budget).some((item) => areEqual(item, needle, budget));
}

/** Elements that a loop over a value yields: characters, elements or keys, and none for Undefined. */
export function elementsOf(value: Value, budget: Budget): readonly Value[] {
  if (value === undefined) return [];
  if (value instanceof List) {
    budget.spend(value.items.length);
    return value.items;
  }
  if (value instanceof Dict) {
    budget.spendOnElements(value.entries.size);
    return value.keys();
  }
  if (value instanceof Text) {
    budget.spendOnElements(value.length);
    const characters: Text[] = [];
    for (let start = 0; start < value.length; ) {
      const end = start + ((value.value.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
      characters.push(value.slice(start, end));
      start = end;
    }
    return characters;
  }
  throw new EvaluationError(`expected something to iterate over, got ${typeName(value)}`);
}

/** Number of elements, entries or characters. */
export function lengthOf(value: Value, budget: Budget): number {
  if (value === undefined) return 0;
  if (value instanceof List) return value.items.length;
  if (value instanceof Dict) return value.entries.size;
  if (value instanceof Text) {
    budget.spendOnText(value.length);
    return value.characterCount;
  }
  throw new EvaluationError(`expected a string, a list or a mapping, got ${typeName(value)}`);
}

/** `value.name` of plain data, without methods. */
export function memberOf(value: Value, name: Value, budget: Budget): Value {
  if (value instanceof Dict) return value.get(name);
  if (value instanceof Attributes) return name instanceof Text ? value.get(name.value) : undefined;
  if (typeof name !== "number") return undefined;
  if (value instanceof List) return value.items.at(name);
  if (!(value instanceof Text)) return undefined;
  budget.spendOnText(value.length);
  const at = name < 0 ? name + value.characterCount : name;
  const character = at < 0 ? Text.empty : value.sliceCharacters(at, at + 1);
  return character.length === 0 ? undefined : character;
}
