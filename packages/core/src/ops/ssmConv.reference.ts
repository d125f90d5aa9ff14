import { elementAt, lastOf } from "@centella/quant/checks";
import type { HostTensor } from "../program/op.ts";
import type { Reference } from "../reference/referenceType.ts";
import { type Run, runsOf } from "./shared/recurrent.ts";

export const ssmConv: Reference<"ssmConv"> = ([x, filter, state, positions, rows], _params, y) => {
  const [, channels] = x.spec.shape as readonly [number, number];
  const taps = lastOf(filter.spec.shape);
  for (const run of runsOf("ssmConv", rows, elementAt(state.spec.shape, 0))) {
    for (let t = run.first; t < run.end; t++) {
      const before = Array.from({ length: taps }, (_, j) => tokenBefore(x, state, positions, run, t, taps - 1 - j));
      for (let c = 0; c < channels; c++) {
        let sum = 0;
        for (let j = 0; j < taps; j++) sum += filter.data[c * taps + j]! * (before[j]?.[c] ?? 0);
        y.data[t * channels + c] = sum;
      }
    }
  }
};

/** Channels of the token `distance` places before token `t` of its sequence, from the call or the state; undefined before position 0. */
export function tokenBefore(
  x: HostTensor,
  state: HostTensor,
  positions: HostTensor,
  { row, first }: Run,
  t: number,
  distance: number,
): HostTensor["data"] | undefined {
  if (distance > positions.data[t]!) return undefined;
  const [, kept, channels] = state.spec.shape as readonly [number, number, number];
  const at = t - distance;
  if (at >= first) return x.data.subarray(at * channels, (at + 1) * channels);
  const slot = row * kept + kept - (first - at);
  return state.data.subarray(slot * channels, (slot + 1) * channels);
}
