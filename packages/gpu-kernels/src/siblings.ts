import type { ParamsOf, Shape, TensorSpec } from "@centella/core";
import { type FusedCall, type FusedParams, type GroupResult, isQuantized } from "@centella/core/backend";
import { activationType, isHalf } from "@centella/quant";
import type { Epilogue } from "./kernel.ts";
import type { RoundedType } from "./roundActivations.ts";

/** Parameters of a product. */
type Params = ParamsOf<"matmul">;

/** A product of the group's first input with a weight `[n, k]`. */
export interface SiblingProduct {
  /** Index into {@link Siblings.lefts}. */
  readonly left: number;
  /** Index of the weight among the group's inputs. */
  readonly input: number;
  readonly weight: TensorSpec;
  readonly params: Params;
  readonly output: TensorSpec;
}

/** A result of one or more products, and where it is stored. */
export interface SiblingResult {
  /** Computes the result from one element of each product. */
  readonly epilogue: Epilogue;
  readonly products: readonly SiblingProduct[];
  readonly y: { readonly kind: "output" } | { readonly kind: "extraOutput"; readonly index: number };
  /** `[..., n]` */
  readonly shape: Shape;
}

/** Products of one tensor `[..., k]`. */
export interface Siblings {
  readonly a: TensorSpec;
  /** The forms of `a` that products read: rounded to the type, or unchanged (undefined). */
  readonly lefts: readonly (RoundedType | undefined)[];
  readonly results: readonly SiblingResult[];
}

/** The type that activations are rounded to before they are multiplied with a weight; undefined where they are not rounded. */
export function roundingOf({ dtype }: TensorSpec, { activations }: Pick<Params, "activations">): RoundedType | undefined {
  if (activations !== "ggml") return undefined;
  if (isQuantized(dtype)) return activationType[dtype];
  return isHalf(dtype) ? dtype : undefined;
}

/** Places of a group that is a part of another one, in the whole group. */
export interface GroupPlaces {
  /** The whole group's input that is an input of the part. */
  readonly inputOf: (place: number) => number;
  /** Number of the whole group's extra outputs before those of the part. */
  readonly firstOutput: number;
}

/** Plans the products of a group that is supported. */
export function siblingsOf(
  inputs: readonly (TensorSpec | undefined)[],
  { body }: FusedParams,
  results: readonly (GroupResult & { readonly epilogue: Epilogue })[],
  { inputOf, firstOutput }: GroupPlaces,
): Siblings {
  const lefts: (RoundedType | undefined)[] = [];
  const productOf = ({ inputs: [, input], params, output }: FusedCall): SiblingProduct => {
    const weight = input === undefined ? undefined : inputs[input];
    if (input === undefined || weight === undefined) throw new RangeError("expected a product with a weight");
    const own = params as Params;
    const rounding = roundingOf(weight, own);
    if (!lefts.includes(rounding)) lefts.push(rounding);
    return { left: lefts.indexOf(rounding), input: inputOf(input), weight, params: own, output };
  };
  const planned = results.map(({ anchors, epilogue }, i): SiblingResult => {
    const products = body.filter((_, index) => anchors.includes(index)).map(productOf);
    const shape = products[0]?.output.shape ?? [];
    return { epilogue, products, y: i < results.length - 1 ? { kind: "extraOutput", index: firstOutput + i } : { kind: "output" }, shape };
  });
  const [a] = inputs;
  if (a === undefined) throw new RangeError("expected products of the group's first input");
  return { a, lefts, results: planned };
}
