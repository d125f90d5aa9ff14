import { elementAt, lastOf } from "@centella/quant/checks";
import type { HostTensor } from "../program/op.ts";
import type { Reference } from "../reference/referenceType.ts";
import { type Run, runsOf } from "./shared/recurrent.ts";
import type { Scanned } from "./ssmScan.ts";

export const ssmScan: Reference<"ssmScan"> = ([x, dt, a, b, c, state, positions, rows], _params, y) => {
  const [, H, P] = x.spec.shape as readonly [number, number, number];
  const [, G, N] = b.spec.shape as readonly [number, number, number];
  for (const run of runsOf("ssmScan", rows, elementAt(state.spec.shape, 0))) {
    scan({ x, dt, a, b, state, positions }, run, (t, h, p, s) => {
      const at = (t * G + Math.floor((h * G) / H)) * N;
      y.data[(t * H + h) * P + p] = s.reduce((sum, value, n) => sum + c.data[at + n]! * value, 0);
    });
  }
};

/** Walks the tokens of a run and calls `visit` with the state `[N]` of each channel after each token. */
export function scan(
  { x, dt, a, b, state, positions }: Scanned<HostTensor>,
  { row, first, end }: Run,
  visit: (t: number, h: number, p: number, s: Float64Array) => void,
): void {
  const [, H, P] = x.spec.shape as readonly [number, number, number];
  const [, G, N] = b.spec.shape as readonly [number, number, number];
  const decays = lastOf(a.spec.shape);
  for (let h = 0; h < H; h++) {
    for (let p = 0; p < P; p++) {
      const from = ((row * H + h) * P + p) * N;
      const s = Float64Array.from(state.data.subarray(from, from + N));
      for (let t = first; t < end; t++) {
        if (positions.data[t] === 0) s.fill(0);
        const step = dt.data[t * H + h]!;
        const input = step * x.data[(t * H + h) * P + p]!;
        const at = (t * G + Math.floor((h * G) / H)) * N;
        for (let n = 0; n < N; n++) s[n] = Math.exp(step * a.data[h * decays + (n % decays)]!) * s[n]! + input * b.data[at + n]!;
        visit(t, h, p, s);
      }
    }
  }
}
