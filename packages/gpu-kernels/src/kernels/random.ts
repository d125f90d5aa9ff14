import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { preciseLog, sinCosOf } from "../shared/math.ts";
import { philox4x32 } from "../shared/philox.ts";

export const random: GpuKernelOf<"random"> = {
  steps: (call, { seed, distribution }) => {
    const hasDraw = call.inputs[0] !== undefined;
    return [
      {
        kind: "map",
        name: `${distribution}${hasDraw ? "_draw" : ""}`,
        args: { ...(hasDraw && { draw: input(call, 0) }), y: output(call) },
        shape: call.output.shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const zero = k.constant("u32", 0);
          const draw = hasDraw ? k.loadBits("draw", 0) : zero;
          const key = [asValue(k, scope.whole(seed >>> 0)), asValue(k, scope.whole(Math.floor(seed / 2 ** 32)))] as const;
          const words = philox4x32(k, [k.shiftRight(index, 2), zero, draw, zero], key);
          const place = k.and(index, 3);
          const pick = (at: U32): U32 => words.reduce((picked, word, i) => k.select(k.compare("eq", at, i), word, picked));
          if (distribution === "uniform") return k.bitcast("u32", unit(k, pick(place)));
          const first = pick(k.and(place, 2));
          const second = pick(k.or(place, 1));
          const radius = k.sqrt(k.mul(preciseLog(k, k.add(unit(k, first), 2 ** -24)), -2));
          const { sin, cos } = sinCosOfTurn(k, unit(k, second));
          return k.bitcast("u32", k.mul(radius, k.select(k.compare("eq", k.and(place, 1), 0), cos, sin)));
        },
      },
    ];
  },
};

function unit(k: Emitter, word: U32): F32 {
  return k.mul(k.convert("f32", k.shiftRight(word, 8)), 2 ** -24);
}

/** Sine and cosine of `turn` times 2π, with `turn` in [0, 1). */
function sinCosOfTurn(k: Emitter, turn: F32): { readonly sin: F32; readonly cos: F32 } {
  const quarters = k.mul(turn, 4);
  const nearest = k.round(quarters);
  return sinCosOf(k, { r: k.mul(k.sub(quarters, nearest), Math.PI / 2), q: k.and(k.convert("u32", nearest), 3) });
}
