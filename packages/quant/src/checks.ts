import { describe, isPlain } from "./describe.ts";
import { ArgumentError } from "./errors.ts";

export { describe, isPlain } from "./describe.ts";
export { sentence } from "./errors.ts";
export { elementAt, entryOf, lastOf, named } from "./lookup.ts";
export { formatBytes, printable, shown } from "./shown.ts";
export { mapTuple, type Tuple, tupleOf } from "./tuple.ts";

/** A kind of argument: its description, which completes "expected x to be …", and its test. */
export interface Kind {
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

/** The kind of each option of `Options`. */
export type Kinds<Options> = { readonly [Name in keyof Options]-?: Kind };

/** Returns `value`. @throws {ArgumentError} `where: expected name to be …, got …` if the value is of another kind */
export function check<T>(where: string, name: string, value: T, kind: Kind, fix?: string): T {
  if (kind.accepts(value)) return value;
  throw new ArgumentError(where, `${name} to be ${kind.expected}`, describe(value), fix);
}

/** Like {@link check}, for a value that `where` names. @throws {ArgumentError} `where: expected …, got …` */
export function checkValue<T>(where: string, value: T, kind: Kind, fix?: string): T {
  if (kind.accepts(value)) return value;
  throw new ArgumentError(where, kind.expected, describe(value), fix);
}

/**
 * Returns `options`. An undefined option counts as not given.
 * @throws {ArgumentError} if `options` is not an object, has a key that `kinds` lacks, or a value of another kind
 */
export function checkOptions<Options extends object>(where: string, options: Options, kinds: Kinds<Options>): Options {
  if (!isRecord(options)) throw new ArgumentError(where, "an options object", describe(options), "pass { option: value }");
  for (const name in options) if (!Object.hasOwn(kinds, name)) checkKeys(where, options, Object.keys(kinds));
  // Inherited properties count too: options are read like that, and the option `set` of a Map would be its method.
  for (const name in kinds) if (options[name] !== undefined) check(where, name, options[name], kinds[name]);
  return options;
}

/** @throws {ArgumentError} if `options` is not an object or has a key that is not in `known` */
export function checkKeys(where: string, options: object, known: readonly string[]): void {
  if (!isRecord(options)) throw new ArgumentError(where, "an options object", describe(options), "pass { option: value }");
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new ArgumentError(where, `options among {${known.join(", ")}}`, unknown, "check the spelling");
}

/** Returns a kind with a custom test. */
export function kind(expected: string, accepts: Kind["accepts"]): Kind {
  return { expected, accepts };
}

/** Any value, for arguments that are checked elsewhere. */
export const anything: Kind = kind("anything", () => true);
/** `true` or `false`. */
export const boolean: Kind = kind("true or false", (value) => typeof value === "boolean");
/** A string, which may be empty. */
export const string: Kind = kind("a string", (value) => typeof value === "string");
/** A string of at least one character. */
export const nonEmptyString: Kind = kind("a string that is not empty", (value) => typeof value === "string" && value !== "");
/** A function. */
export const callback: Kind = kind("a function", (value) => typeof value === "function");
/** An `AbortSignal`, recognised by its methods because each realm has its own class. */
export const abortSignal: Kind = kind(
  "an AbortSignal",
  (value) => isRecord(value) && typeof value.throwIfAborted === "function" && typeof value.addEventListener === "function",
);
/** An object that is not an array. */
export const object: Kind = kind("an object", isRecord);
/** An array of anything. */
export const list: Kind = kind("a list", Array.isArray);
/** A `Uint8Array` whose buffer is not detached. */
export const byteArray: Kind = typedArray(Uint8Array);
/** A `Float32Array` whose buffer is not detached. */
export const floatArray: Kind = typedArray(Float32Array);
/** A number, including infinities and NaN. */
export const number: Kind = kind("a number", (value) => typeof value === "number");
/** A finite number. */
export const finite: Kind = kind("a finite number", Number.isFinite);
/** A finite number above 0. */
export const positive: Kind = kind("a finite number above 0", (value) => isFiniteNumber(value) && value > 0);

/** Data as in JSON, or undefined: no cycles, no functions, at most 64 levels. */
export const plainData: Kind = kind("plain data without cycles", (value) => isPlainData(value, new Map()));

/** A typed array of this class whose buffer is not detached. */
export function typedArray(type: new (length: number) => ArrayBufferView): Kind {
  return kind(`a ${type.name} whose buffer is not detached`, (value) => value instanceof type && isAttached(value));
}

/** A number from `min` to `max`, both inclusive. */
export function within(min: number, max: number = Number.POSITIVE_INFINITY): Kind {
  const range = max === Number.POSITIVE_INFINITY ? `from ${min}` : `from ${min} to ${max}`;
  return kind(`a finite number ${range}`, (value) => isFiniteNumber(value) && value >= min && value <= max);
}

/** A whole number from `min` to `max`, both inclusive. */
export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  return kind(`a whole number ${range}`, (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max);
}

/** One of the given values. */
export function oneOf(...choices: readonly (string | number | boolean)[]): Kind {
  return kind(choices.map((choice) => JSON.stringify(choice)).join(" or "), (value) => choices.includes(value as string));
}

/** A value of either kind. */
export function either(first: Kind, second: Kind): Kind {
  return kind(`${first.expected} or ${second.expected}`, (value) => first.accepts(value) || second.accepts(value));
}

/** An array of values of one kind. `elements` is its plural, for messages. */
export function listOf(elements: string, each: Kind): Kind {
  // every() would skip holes.
  return kind(`a list of ${elements}`, (value) => Array.isArray(value) && value.findIndex((one) => !each.accepts(one)) < 0);
}

/** Whether `value` is an object and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether memory is readable. Transferring a buffer to a worker detaches it. */
export function isAttached(memory: ArrayBufferView | ArrayBufferLike): boolean {
  const buffer = ArrayBuffer.isView(memory) ? memory.buffer : memory;
  // Neither the compiler's library nor older engines have `detached`.
  return (buffer as { readonly detached?: boolean }).detached !== true;
}

/** `known` holds the result for each object. It is false while the object's fields are checked, so that a cycle is found. */
function isPlainData(value: unknown, known: Map<object, boolean>, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return !["bigint", "symbol", "function"].includes(typeof value);
  const found = known.get(value);
  if (found !== undefined) return found;
  known.set(value, false);
  const isPlainHere = depth <= 64 && (Array.isArray(value) || isPlain(value));
  const isPlainBelow = isPlainHere && Object.values(value).every((each) => isPlainData(each, known, depth + 1));
  known.set(value, isPlainBelow);
  return isPlainBelow;
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
