import { random } from "@centella/conformance";

/** What hostile callbacks and proxies throw: it reaches the caller as it is. */
export class CallersOwn extends Error {}

function throwing(): never {
  throw new CallersOwn("thrown by the caller's own code");
}

const cyclic: { name: string; self?: unknown } = { name: "cyclic" };
cyclic.self = cyclic;

const detached = new Float32Array(4);
structuredClone(detached, { transfer: [detached.buffer] });

/** Values that are wrong in most places, by name. */
export const wrongValues: readonly (readonly [name: string, value: unknown])[] = Object.entries({
  undefined: undefined,
  null: null,
  true: true,
  zero: 0,
  "a negative number": -1,
  "a fraction": 1.5,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "2^53": 2 ** 53,
  "2^31": 2 ** 31,
  "a BigInt": 5n,
  "a large BigInt": 2n ** 200n,
  "an empty string": "",
  "a numeral": "4",
  "a word": "constructor",
  "a control character": "\u0000\u001b]0;x\u0007",
  "a long string": "x".repeat(10_000),
  "a symbol": Symbol("s"),
  "a function": () => undefined,
  "a function that throws": throwing,
  "an empty list": [],
  "a list of a numeral": ["4"],
  "a list of null": [null],
  "a list of undefined": [4, undefined],
  "a list of a BigInt": [1n],
  "a hole": new Array(3),
  "a nested list": [[[]]],
  "an object": {},
  "an unknown option": { unknownOption: 1 },
  "a cyclic object": cyclic,
  "a list of a cyclic object": [cyclic],
  "a bare object": Object.create(null),
  "an object with a length": { length: 2 ** 31 },
  "a date": new Date(0),
  "a map": new Map([[1, 2]]),
  "a promise": Promise.resolve(1),
  "a regular expression": /x/,
  "an error": new Error("given"),
  "a detached array": detached,
  "a short array": new Uint8Array(3),
  "an array of doubles": new Float64Array(3),
  "an array of BigInts": new BigInt64Array(2),
  "a buffer": new ArrayBuffer(8),
  "an object that throws": new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getOwnPropertyDescriptor: throwing }),
  "an object whose text throws": { toString: throwing, valueOf: throwing, toJSON: throwing },
});

/** An argument in which nothing is replaced: a handle, or what the library itself made. */
export class Whole {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

export function whole<T>(value: T): T {
  return new Whole(value) as T;
}

/** The arguments of one call, with one position replaced. */
export interface Variant {
  readonly what: string;
  readonly args: readonly unknown[];
}

/** Every way to replace one position of `args` by a wrong value: all of them, or as many as `limit`, chosen by the seed. */
export function variants(args: readonly unknown[], seed: number, limit: number = Number.POSITIVE_INFINITY): readonly Variant[] {
  const next = random(seed);
  const all = positions(args).flatMap(({ path, replace }) =>
    wrongValues.map(([name, value]) => ({ order: next(), what: `${path} is ${name}`, args: () => replace(value) })),
  );
  if (all.length > limit) all.sort((a, b) => a.order - b.order).length = limit;
  return all.map(({ what, args: make }) => ({ what, args: make() }));
}

/** The arguments themselves. */
export function unwrapped(args: readonly unknown[]): readonly unknown[] {
  return args.map(bare);
}

interface Position {
  readonly path: string;
  readonly replace: (value: unknown) => readonly unknown[];
}

function positions(args: readonly unknown[]): readonly Position[] {
  return args.flatMap((arg, i) =>
    within(arg, `argument ${i}`).map(({ path, replace }) => ({ path, replace: (value) => unwrapped(args).with(i, replace(value)) })),
  );
}

/** A value as a whole, and the places in it. */
function within(value: unknown, path: string): readonly { readonly path: string; readonly replace: (value: unknown) => unknown }[] {
  const self = { path, replace: (other: unknown) => other };
  if (Array.isArray(value)) {
    const places = value.slice(0, 2).flatMap((each, i) =>
      within(each, `${path}[${i}]`).map((inner) => ({
        path: inner.path,
        replace: (other: unknown) => value.map(bare).with(i, inner.replace(other)),
      })),
    );
    return [self, ...places];
  }
  if (!isPlain(value)) return [self];
  const places = Object.entries(value).flatMap(([key, each]) =>
    within(each, `${path}.${key}`).map((inner) => ({
      path: inner.path,
      replace: (other: unknown) => ({ ...(bare(value) as object), [key]: inner.replace(other) }),
    })),
  );
  return [self, ...places];
}

function bare(value: unknown): unknown {
  if (value instanceof Whole) return value.value;
  if (Array.isArray(value)) return value.map(bare);
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, bare(each)])) : value;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
