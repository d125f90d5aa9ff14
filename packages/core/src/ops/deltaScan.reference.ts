import { elementAt, lastOf } from "@centella/quant/checks";
import type { HostTensor } from "../program/op.ts";
import type { Reference } from "../reference/referenceType.ts";
import type { DeltaInputs } from "./deltaScan.ts";
import { type Run, runsOf } from "./shared/recurrent.ts";

export const deltaScan: Reference<"deltaScan"> = ([q, k, v, decay, a, b, state, positions, rows], _params, y) => {
  const [, H, V] = v.spec.shape as readonly [number, number, number];
  const K = lastOf(k.spec.shape);
  for (const run of runsOf("deltaScan", rows, elementAt(state.spec.shape, 0))) {
    scanDelta({ k, v, decay, a, b, state, positions }, run, (t, h, channel, s) => {
      y.data[(t * H + h) * V + channel] = s.reduce((sum, value, n) => sum + value * q.data[(t * H + h) * K + n]!, 0);
    });
  }
};

/** Walks the tokens of a run and calls `visit` with each row `[K]` of each head's state after each token. */
export function scanDelta(
  { k, v, decay, a, b, state, positions }: DeltaInputs<HostTensor>,
  { row, first, end }: Run,
  visit: (t: number, h: number, channel: number, s: Float64Array) => void,
): void {
  const [, H, V] = v.spec.shape as readonly [number, number, number];
  const [K, decays] = [lastOf(k.spec.shape), lastOf(decay.spec.shape)];
  for (let h = 0; h < H; h++) {
    for (let channel = 0; channel < V; channel++) {
      const from = ((row * H + h) * V + channel) * K;
      const s = Float64Array.from(state.data.subarray(from, from + K));
      for (let t = first; t < end; t++) {
        if (positions.data[t] === 0) s.fill(0);
        const head = t * H + h;
        const along = s.reduce((sum, value, n) => sum + value * a.data[head * K + n]!, 0);
        const added = v.data[head * V + channel]!;
        for (let n = 0; n < K; n++) {
          const kept = s[n]! * decay.data[head * decays + (n % decays)]!;
          s[n] = kept + along * b.data[head * K + n]! + added * k.data[head * K + n]!;
        }
        visit(t, h, channel, s);
      }
    }
  }
}
