import { expect, test } from "vitest";
import {
  abortSignal,
  boolean,
  byteArray,
  callback,
  check,
  checkOptions,
  describe,
  either,
  finite,
  floatArray,
  type Kind,
  list,
  listOf,
  nonEmptyString,
  object,
  oneOf,
  plainData,
  positive,
  string,
  whole,
  within,
} from "../src/checks.ts";
import { ArgumentError, CentellaError } from "../src/index.ts";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
const detached = new Uint8Array(4);
structuredClone(detached, { transfer: [detached.buffer] });
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("no");
    },
    ownKeys: () => {
      throw new Error("no");
    },
  },
);

test.each([
  ["text", '"text"'],
  ["a\u001b]0;title\u0007\u0085", '"a\\u001b]0;title\\u0007\\u0085"'],
  ["x".repeat(100_000), `"${"x".repeat(64)}…" (100000 characters)`],
  [12n, "12n"],
  [2n ** 100_000n, "a large BigInt"],
  [Symbol("s".repeat(1000)), "a symbol"],
  [() => 1, "a function"],
  [undefined, "undefined"],
  [null, "null"],
  [Number.NaN, "NaN"],
  [[1, "4", undefined], '[1, "4", undefined]'],
  [[[[1]]], "[[a list]]"],
  [new Array(2 ** 32 - 1), "[, , , , , , …]"],
  [{ open: 5 }, "{ open: 5 }"],
  [{}, "an object"],
  [new AbortController(), "an AbortController"],
  [
    new (class Handle {
      id = 1;
    })(),
    "an object",
  ],
  [cyclic, "{ self: { self: an object } }"],
  [hostile, "an object that cannot be read"],
  [new Float32Array(3), "a Float32Array of 12 bytes"],
  [new ArrayBuffer(3), "an ArrayBuffer"],
  [Promise.resolve(), "a Promise"],
])("a message shows a value %#", (value, shown) => {
  expect(describe(value)).toBe(shown);
});

const shared = { a: 1 };
const deep = Array.from({ length: 100 }).reduce<unknown>((inner) => [inner], 1);

const kinds: readonly (readonly [Kind, readonly unknown[], readonly unknown[]])[] = [
  [plainData, [1, "a", null, undefined, [1, { a: [] }], [shared, shared]], [1n, Symbol("s"), () => 1, new Map(), cyclic, [cyclic], deep]],
  [boolean, [true, false], [0, "true", null, 1n]],
  [string, ["", "a"], [0, null, new String("a")]],
  [nonEmptyString, ["a"], ["", 1]],
  [callback, [() => 1], [{}, "f"]],
  [abortSignal, [new AbortController().signal], [new AbortController(), {}, null, 5]],
  [object, [{}], [[], null, 5, "a"]],
  [list, [[]], [{}, "a", { length: 1 }]],
  [byteArray, [new Uint8Array(0), Buffer.alloc(1)], [detached, new ArrayBuffer(1), new Int8Array(1), [1]]],
  [floatArray, [new Float32Array(1)], [new Uint8Array(4), [1]]],
  [finite, [0, -1.5], [Number.NaN, Number.POSITIVE_INFINITY, "1", 1n, null]],
  [positive, [0.1], [0, -1, "1", 1n]],
  [within(0, 1), [0, 0.5, 1], [-0.1, 1.1, Number.NaN, 1n]],
  [within(0), [1e300], [-1, Number.POSITIVE_INFINITY]],
  [whole(1), [1, 2 ** 40], [0, 1.5, 2 ** 60, "1", 1n]],
  [whole(-1, 3), [-1, 3], [-2, 4]],
  [oneOf("a", 2), ["a", 2], ["b", "2", null]],
  [either(whole(1), oneOf("auto")), [1, "auto"], [0, "x"]],
  [listOf("strings", string), [[], ["a"]], ["a", [1], null, new Array(2 ** 32 - 1)]],
];

test.each(kinds)("what is $expected", (kind, right, wrong) => {
  for (const value of right) expect(check("op", "x", value, kind)).toBe(value);
  for (const value of wrong) {
    expect(() => check("op", "x", value, kind, "do so")).toThrow(ArgumentError);
    expect(() => check("op", "x", value, kind, "do so")).toThrow(`op: expected x to be ${kind.expected}, got ${describe(value)}; do so`);
  }
});

test("options are checked by name and kind; undefined is left out", () => {
  const kinds = { size: whole(1), name: string };
  const options = { size: 3, name: undefined };
  expect(checkOptions("op", options, kinds)).toBe(options);
  for (const none of [null, undefined, 5, "x", [], () => 1])
    expect(() => checkOptions<object>("op", none as never, kinds)).toThrow("op: expected an options object, got");
  expect(() => checkOptions<object>("op", { sise: 3 }, kinds)).toThrow(
    "op: expected options among {size, name}, got sise; check the spelling",
  );
  expect(() => checkOptions<object>("op", new Map(), { set: string })).toThrow("op: expected set to be a string, got a function");
  expect(() => checkOptions("op", { size: 3n as never, name: "a" }, kinds)).toThrow(
    "op: expected size to be a whole number from 1, got 3n",
  );
});

test("an ArgumentError is a CentellaError with a stable code", () => {
  expect(new ArgumentError("op", "x", "y")).toBeInstanceOf(CentellaError);
  expect(new ArgumentError("op", "x", "y").code).toBe("argument");
});
