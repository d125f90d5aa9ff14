import { mapTuple, tupleOf } from "@centella/core/backend";
import { f32x4, v128 } from "../../emit/index.ts";
import { exp, expm1Negative } from "../../math/exp.ts";
import { softplus } from "../../math/softplus.ts";
import { tanh } from "../../math/tanh.ts";
import { horner } from "../../target.ts";
import type { ExpressionTable } from "./table.ts";

/**
 * `1 - erf(z) = t (a1 + t (a2 + ...)) e^(-z^2)` with `t = 1 / (1 + 0.3275911 z)`, absolute error 1.5e-7 (Abramowitz and
 * Stegun, 7.1.26). Used directly for negative x, so that nothing cancels there.
 */
const erfCoefficients = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592] as const;

/** Klambauer et al., 2017. */
const [seluAlpha, seluLambda] = [1.6732632423543772, 1.0507009873554805];

/** Variants of the activations of activations.ts, with a slope or another approximation. */
export const activationVariants: ExpressionTable = {
  leakyRelu: {
    scalars: ({ slope }) => [slope],
    emit({ scalars }, x) {
      const [slope] = tupleOf(scalars, 1);
      return v128.bitselect(f32x4.lt(x, v128.zero()), f32x4.mul(x, slope), x);
    },
  },
  elu: {
    scalars: ({ alpha }) => [alpha],
    emit({ f, target, scalars }, x) {
      const [alpha] = tupleOf(scalars, 1);
      const negative = expm1Negative(f, target, f32x4.pmin(x, v128.zero()));
      return v128.bitselect(f32x4.lt(x, v128.zero()), f32x4.mul(negative, alpha), x);
    },
  },
  selu: {
    emit: ({ f, target }, x) => {
      const negative = expm1Negative(f, target, f32x4.pmin(x, v128.zero()));
      const below = f32x4.mul(negative, f.splat(seluLambda * seluAlpha));
      return v128.bitselect(f32x4.gt(x, v128.zero()), f32x4.mul(x, f.splat(seluLambda)), below);
    },
  },
  geluErf: {
    emit: ({ f, target }, x) => {
      const z = f.let(f32x4.mul(f32x4.abs(x), f.splat(Math.SQRT1_2)));
      const t = f.let(f32x4.div(f.splat(1), f32x4.add(f.splat(1), f32x4.mul(z, f.splat(0.3275911)))));
      const coefficients = mapTuple(erfCoefficients, (c) => c / 2);
      const tail = f32x4.mul(f32x4.mul(horner(f, target, t, coefficients), t), exp(f, target, f32x4.neg(f32x4.mul(z, z))));
      // From 16 on the tail is 0. Infinity times 0 would be NaN.
      const part = f.let(f32x4.mul(f32x4.min(x, f.splat(16)), tail));
      return v128.bitselect(f32x4.lt(x, v128.zero()), part, f32x4.sub(x, part));
    },
  },
  hardswish: {
    emit: ({ f }, x) => {
      const middle = f32x4.div(f32x4.mul(x, f32x4.add(x, f.splat(3))), f.splat(6));
      const upper = v128.bitselect(f32x4.ge(x, f.splat(3)), x, middle);
      return v128.bitselect(f32x4.le(x, f.splat(-3)), v128.zero(), upper);
    },
  },
  mish: { emit: ({ f, target }, x) => f32x4.mul(x, tanh(f, target, softplus(f, target, x))) },
};
