import type { ParamsOf } from "@centella/core";
import { asValue, plus, times, timesPlus, unflatten } from "@centella/gpu-kernels";
import { sinCos } from "../ptx/math.ts";
import type { F64 } from "../ptx/types.ts";
import { elementwise, fixed, input, isFixed, type Kernel, output } from "./shared/kernel.ts";

/** Angles, sines and products in f64: a position in the hundred thousands leaves an f32 angle only two or three digits. */
export const rope: Kernel<ParamsOf<"rope">> = {
  unsupported: ([x]) => (isFixed(x!.shape[2]) ? undefined : "no kernel for a symbolic head size"),
  launches: (call, params) => {
    const [x, , freqFactors] = call.inputs;
    const [tokens, heads] = [x!.shape[0]!, x!.shape[1]!];
    const width = fixed(x!.shape[2]);
    const dims = params.dims === 0 ? width : params.dims;
    const pairs = dims / 2;
    // Per head: one thread per pair, then one per element that is only copied.
    const units = pairs + width - dims;
    const args = { x: input(0), positions: input(1), ...(freqFactors === undefined ? {} : { factors: input(2) }), y: output };
    return [
      elementwise(call, `rope_${params.pairing}`, { shape: [tokens, heads, units], args }, (scope, index) => {
        const { k, pointer } = scope;
        const [token, head, unit] = unflatten(k, index, [1, scope.extent(heads), units]);
        const row = times(k, timesPlus(k, token!, scope.extent(heads), head!), width);
        const [from, to] = [pointer("x", "f32"), pointer("y", "f32")];
        const positions = pointer("positions", "s32");
        const factors = freqFactors === undefined ? undefined : pointer("factors", "f32");
        const frequencies = k.table(
          "f64",
          Array.from({ length: pairs }, (_, i) => params.base ** ((-2 * i) / dims)),
        );
        const pair = asValue(k, unit!);
        const copy = (): void => {
          const at = plus(k, k.add(pair, dims - pairs), row);
          k.store("f32", k.at("f32", to, at), k.load("f32", k.at("f32", from, at)));
        };
        const rotate = (): void => {
          const first = plus(k, params.pairing === "interleaved" ? k.mul(pair, 2) : pair, row);
          const second = plus(k, first, params.pairing === "interleaved" ? 1 : pairs);
          const position = k.convert("f64", k.load("s32", k.at("s32", positions, token!)));
          let angle: F64 = k.mul(k.mul(position, params.scale), k.load("f64", k.at("f64", frequencies, pair)));
          if (factors !== undefined) angle = k.div(angle, k.convert("f64", k.load("f32", k.at("f32", factors, pair))));
          const { sin, cos } = sinCos(k, angle);
          const a = k.convert("f64", k.load("f32", k.at("f32", from, first)));
          const b = k.convert("f64", k.load("f32", k.at("f32", from, second)));
          k.store("f32", k.at("f32", to, first), k.convert("f32", k.fma(a, cos, k.neg(k.mul(b, sin)))));
          k.store("f32", k.at("f32", to, second), k.convert("f32", k.fma(a, sin, k.mul(b, cos))));
        };
        k.if(k.compare("lt", pair, pairs), rotate, copy);
      }),
    ];
  },
};
