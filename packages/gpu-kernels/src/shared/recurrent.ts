import type { TensorSpec } from "@centella/core";
import type { Bool, Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent, timesPlus } from "../extent.ts";
import { type GpuCall, type GpuScratch, type GpuStep, input } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";

/**
 * A step that puts the row and the start of each token into one argument, `tokens`: on their own they would be more arguments than every
 * device can bind.
 */
export function prepareTokens(
  call: GpuCall,
  { state, positions, rows }: Readonly<Record<"state" | "positions" | "rows", number>>,
): { readonly step: GpuStep; readonly argument: GpuScratch } {
  const [stateSpec, { shape }] = [call.inputs[state] as TensorSpec, call.inputs[positions] as TensorSpec];
  const argument: GpuScratch = { kind: "scratch", dtype: "u32", elements: shape };
  const step: GpuStep = {
    kind: "each",
    name: "tokens",
    args: { positions: input(call, positions), rows: input(call, rows), tokens: argument },
    shape,
    body: (scope, t) => {
      const { k } = scope;
      const row = k.bitcast("u32", k.loadInteger("rows", t));
      const isFirst = k.compare("eq", k.loadInteger("positions", t), 0);
      const bounded = k.min(row, scope.extent(dimAt(stateSpec, 0)));
      k.store("tokens", t, k.add(k.shiftLeft(bounded, 1), k.select(isFirst, k.constant("u32", 1), 0)));
    },
  };
  return { step, argument };
}

/** Row of a token's state, or the number of states for one outside, and whether the token is its sequence's first; see {@link prepareTokens}. */
export function rowOfToken(k: Emitter, t: U32): { readonly of: U32; readonly isFirst: Bool } {
  const token = k.loadBits("tokens", t);
  return { of: k.shiftRight(token, 1), isFirst: k.compare("eq", k.and(token, 1), 1) };
}

/** Whether token `t` is the last of its sequence in the call; see {@link prepareTokens}. */
export function isRowEnd(k: Emitter, t: U32, tokens: Extent): Bool {
  const next = k.add(t, 1);
  const isEnd = k.variable("u32", 1);
  k.if(k.compare("lt", next, tokens), () => k.if(k.compare("eq", rowOfToken(k, next).of, rowOfToken(k, t).of), () => isEnd.set(0)));
  return k.compare("eq", isEnd.get(), 1);
}

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
