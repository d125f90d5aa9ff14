import type { Reference } from "../reference/referenceType.ts";
import { runsOf } from "./shared/recurrent.ts";
import { tokenBefore } from "./ssmConv.reference.ts";

export const ssmConvWrite: Reference<"ssmConvWrite"> = ([, x, positions, rows], _params, state) => {
  const [states, kept, channels] = state.spec.shape as readonly [number, number, number];
  for (const run of runsOf("ssmConvWrite", rows, states)) {
    const latest = Array.from({ length: kept }, (_, i) => tokenBefore(x, state, positions, run, run.end - 1, kept - 1 - i)?.slice());
    latest.forEach((values, i) => {
      const at = (run.row * kept + i) * channels;
      if (values === undefined) state.data.fill(0, at, at + channels);
      else (state.data as Float32Array).set(values as Float32Array, at);
    });
  }
};
