import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent, timesPlus } from "../extent.ts";

/** Whether tokens `t` and `t - 1` belong to one sequence: their entries in the argument `rows` are equal. */
export function followsOn(k: Emitter, t: U32): ReturnType<Emitter["not"]> {
  const isFirst = k.compare("eq", t, 0);
  const before = k.select(isFirst, k.constant("u32", 0), k.sub(t, 1));
  return k.both(k.not(isFirst), k.compare("eq", k.loadInteger("rows", before), k.loadInteger("rows", t)));
}

/** Number of tokens of `t`'s sequence before it in the call, at most `most`. */
export function tokensBefore(k: Emitter, t: U32, most: Extent): U32 {
  const count = k.variable("u32", 0);
  k.while(
    () => {
      const isBelow = k.compare("lt", count.get(), most);
      const at = k.sub(t, count.get());
      return k.both(isBelow, followsOn(k, at));
    },
    () => count.set(k.add(count.get(), 1)),
  );
  return count.get();
}

/**
 * Channel `c` of the token `distance` places before token `t` in its sequence: from `x [T, C]` for the `inCall` tokens before it in the
 * call, then from row `row` of `state [S, K - 1, C]`, or 0 before position 0.
 */
export function tokenBefore(
  k: Emitter,
  { t, row, inCall, distance, c }: Readonly<Record<"t" | "row" | "inCall" | "distance" | "c", U32>>,
  { channels, kept }: { readonly channels: Extent; readonly kept: Extent },
): F32 {
  const value = k.variable("f32", 0);
  const position = k.bitcast("u32", k.loadInteger("positions", t));
  k.if(k.compare("le", distance, position), () =>
    k.if(
      k.compare("le", distance, inCall),
      () => value.set(k.load("x", asValue(k, timesPlus(k, k.sub(t, distance), channels, c)))),
      () => {
        const slot = k.sub(asValue(k, kept), k.sub(distance, inCall));
        value.set(k.load("state", asValue(k, timesPlus(k, timesPlus(k, row, kept, slot), channels, c))));
      },
    ),
  );
  return value.get();
}
