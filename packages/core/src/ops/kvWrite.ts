import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { bytesPerRow } from "./shared/axes.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Stores the keys and values of T tokens in a cache and returns the cache's next version: `cache[slots[t], h] = [k[t, h], v[t, h]]`.
 * `cache [S, Hkv, dK + dV] f32 | f16 | q8_0, k [T, Hkv, dK] f32, v [T, Hkv, dV] f32, slots [T] i32 -> cache`.
 *
 * Slots of one call should differ: which of two tokens with the same slot is kept is undefined. A slot outside `[0, S)` is an error on the
 * scalar reference; other backends skip the token.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ProgramError} unless `cache` is the newest version of a persistent
 * @throws {ArgumentError} for a slot out of range, when the reference runs
 */
export const kvWrite: Op<["cache", "k", "v", "slots"]> = {
  name: "kvWrite",
  inputs: ["cache", "k", "v", "slots"],
  defaults: {},
  writes: 0,
  infer([cache, k, v, slots]) {
    requireDType("kvWrite", "cache", cache, ["f32", "f16", "q8_0"]);
    const [, heads, width] = requireAxes("kvWrite", "cache", cache, ["S", "Hkv", "dK + dV"]);
    requireDType("kvWrite", "k", k, ["f32"]);
    requireDType("kvWrite", "v", v, ["f32"]);
    const [tokens, , dK] = requireAxes("kvWrite", "k", k, ["T", "Hkv", "dK"]);
    const [, , dV] = requireAxes("kvWrite", "v", v, ["T", "Hkv", "dV"]);
    requireShape("kvWrite", "k", k, [tokens, heads, dK]);
    requireShape("kvWrite", "v", v, [tokens, heads, dV]);
    const sum = requireExtent("kvWrite", "dK", dK) + requireExtent("kvWrite", "dV", dV);
    if (sum !== width) throw new ShapeError("kvWrite", `cache [S, Hkv, dK + dV = ${sum}]`, formatSpec(cache), "make a cache of that width");
    requireDType("kvWrite", "slots", slots, ["i32"]);
    requireShape("kvWrite", "slots", slots, [tokens]);
    return cache;
  },
  cost([cache, k, v, slots]) {
    const written = bytesPerRow(cache) * elementCount(slots.shape);
    return { flops: 0, bytes: byteLength(k) + byteLength(v) + byteLength(slots) + written };
  },
};
