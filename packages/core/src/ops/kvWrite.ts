import { roundTo } from "../decode.ts";
import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Stores keys and values of T tokens in a cache: `cache[slots[t], h] = [k[t, h], v[t, h]]`, and returns its next version.
 * `cache [S, Hkv, dK + dV] f32 | f16 | q8_0, k [T, Hkv, dK], v [T, Hkv, dV], slots [T] i32 -> cache`. Slots of one call
 * should differ; of equal ones, which token stays is not defined.
 *
 * A slot outside `[0, S)` is an error on the scalar reference; other backends skip the token.
 * @throws {ShapeError | DTypeError | ProgramError} and, when the reference runs, {ArgumentError}
 */
export const kvWrite: Op<["cache", "k", "v", "slots"]> = {
  name: "kvWrite",
  inputs: ["cache", "k", "v", "slots"],
  defaults: {},
  writes: 0,
  infer([cache, k, v, slots]) {
    requireDType("kvWrite", "cache", cache!, ["f32", "f16", "q8_0"]);
    const [, heads, width] = requireAxes("kvWrite", "cache", cache!, ["S", "Hkv", "dK + dV"]);
    requireDType("kvWrite", "k", k!, ["f32"]);
    requireDType("kvWrite", "v", v!, ["f32"]);
    const [tokens, , dK] = requireAxes("kvWrite", "k", k!, ["T", "Hkv", "dK"]);
    const [, , dV] = requireAxes("kvWrite", "v", v!, ["T", "Hkv", "dV"]);
    requireShape("kvWrite", "k", k!, [tokens!, heads!, dK!]);
    requireShape("kvWrite", "v", v!, [tokens!, heads!, dV!]);
    const sum = requireExtent("kvWrite", "dK", dK!) + requireExtent("kvWrite", "dV", dV!);
    if (sum !== width) throw new ShapeError("kvWrite", `cache [S, Hkv, dK + dV = ${sum}]`, formatSpec(cache!));
    requireDType("kvWrite", "slots", slots!, ["i32"]);
    requireShape("kvWrite", "slots", slots!, [tokens!]);
    return cache!;
  },
  cost([cache, k, v, slots]) {
    const [rows] = cache!.shape;
    const rowBytes = rows === 0 ? 0 : byteLength(cache!) / rows!;
    return { flops: 0, bytes: byteLength(k!) + byteLength(v!) + byteLength(slots!) + rowBytes * elementCount(slots!.shape) };
  },
  reference([, k, v, slots], _params, cache) {
    const [size, heads, width] = cache.spec.shape as readonly [number, number, number];
    const [dK, dV] = [k!.spec.shape[2]!, v!.spec.shape[2]!];
    const row = new Float32Array(heads * width);
    slots!.data.forEach((slot, t) => {
      if (slot < 0 || slot >= size) throw new ArgumentError("kvWrite", `slots from 0 to ${size - 1}`, `${slot} at ${t}`);
      for (let h = 0; h < heads; h++) {
        row.set(k!.data.subarray((t * heads + h) * dK, (t * heads + h + 1) * dK), h * width);
        row.set(v!.data.subarray((t * heads + h) * dV, (t * heads + h + 1) * dV), h * width + dK);
      }
      cache.data.set(roundTo(cache.spec.dtype, row), slot * heads * width);
    });
  },
};
