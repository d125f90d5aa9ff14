import { f32x4, v128 } from "../../emit/index.ts";
import { onePlusExp } from "../../math/exp.ts";
import { softplus } from "../../math/softplus.ts";
import { tanh } from "../../math/tanh.ts";
import { madd } from "../../target.ts";
import type { ExpressionTable } from "./table.ts";

/** `0.5 (1 + tanh u)` is the sigmoid of `2 u`, which does not cancel where `tanh u` is close to -1. */
const twice = -2 * Math.sqrt(2 / Math.PI);

export const activations: ExpressionTable = {
  relu: { emit: (_, x) => f32x4.pmax(x, v128.zero()) },
  sigmoid: {
    emit: ({ f, target }, x) => f32x4.div(f.splat(1), onePlusExp(f, target, f32x4.neg(x))),
  },
  silu: {
    emit: ({ f, target }, x) => f32x4.div(x, onePlusExp(f, target, f32x4.neg(x))),
  },
  gelu: {
    emit: ({ f, target }, x) => {
      const square = f.let(f32x4.mul(x, x));
      const u = f32x4.mul(x, madd(target, square, f.splat(0.044715 * twice), f.splat(twice)));
      return f32x4.div(x, onePlusExp(f, target, u));
    },
  },
  tanh: { emit: ({ f, target }, x) => tanh(f, target, x) },
  softplus: { emit: ({ f, target }, x) => softplus(f, target, x) },
};
