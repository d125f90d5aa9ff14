import type { PtxBuilder } from "./builder.ts";
import type { F32, U32 } from "./types.ts";

/** Combines `value` over the 32 lanes of a warp; every lane gets the result. `combine` must be associative and commutative. */
export function warpReduce(k: PtxBuilder, value: F32, combine: (a: F32, b: F32) => F32): F32 {
  for (let mask = 16; mask > 0; mask >>= 1) value = combine(value, k.shuffleXor(value, mask));
  return value;
}

/** A block-wide reduction that can be used several times in one kernel: it owns the shared memory that it needs. */
export function blockReducer(k: PtxBuilder): (value: F32, combine: (a: F32, b: F32) => F32) => F32 {
  const warps = k.blockThreads / 32;
  const partials = k.shared("f32", warps);
  return (value, combine) => {
    const warp = warpReduce(k, value, combine);
    if (warps === 1) return warp;
    const thread = k.thread();
    // Before the first write: the reads of an earlier reduction must be over.
    k.sync();
    k.if(k.compare("eq", k.and(thread, 31), 0), () => k.store("f32", k.sharedAt("f32", partials, k.shiftRight(thread, 5)), warp));
    k.sync();
    let result = k.load("f32", partials);
    for (let i = 1; i < warps; i++) result = combine(result, k.load("f32", partials, i));
    return result;
  };
}

/** A value and where it was found. */
export interface Located {
  readonly value: F32;
  readonly index: U32;
}

/** As {@link blockReducer}, for values with their places. */
export function blockLocatedReducer(k: PtxBuilder): (best: Located, combine: (a: Located, b: Located) => Located) => Located {
  const warps = k.blockThreads / 32;
  const values = k.shared("f32", warps);
  const indices = k.shared("u32", warps);
  return (best, combine) => {
    for (let mask = 16; mask > 0; mask >>= 1) {
      best = combine(best, { value: k.shuffleXor(best.value, mask), index: k.shuffleXor(best.index, mask) });
    }
    const thread = k.thread();
    const warp = k.shiftRight(thread, 5);
    k.sync();
    k.if(k.compare("eq", k.and(thread, 31), 0), () => {
      k.store("f32", k.sharedAt("f32", values, warp), best.value);
      k.store("u32", k.sharedAt("u32", indices, warp), best.index);
    });
    k.sync();
    let result: Located = { value: k.load("f32", values), index: k.load("u32", indices) };
    for (let i = 1; i < warps; i++) result = combine(result, { value: k.load("f32", values, i), index: k.load("u32", indices, i) });
    return result;
  };
}
