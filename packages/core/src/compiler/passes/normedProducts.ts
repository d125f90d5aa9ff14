import { matmul } from "../../ops/matmul.ts";
import { rmsNorm } from "../../ops/rmsNorm.ts";
import type { FusedCall, FusedParams } from "./fused.ts";

/** A group of a norm and the products of its result, as two groups. */
export interface NormedProducts {
  /** Computes the norm from the inputs of the whole group. Its extra outputs are the first ones of the whole group. */
  readonly norm: FusedParams;
  /** Computes the products. Input 0 is the norm's result, and input `i + 1` is input `i` of the whole group. */
  readonly products: FusedParams;
}

/** Splits a group of `count` inputs after its norm; undefined for a group without products of a norm. */
export function normedProducts(count: number, { body, extraOutputs = [] }: FusedParams): NormedProducts | undefined {
  const end = body.findIndex(({ op }) => op === rmsNorm) + 1;
  const rest = body.slice(end);
  if (end === 0 || !rest.some(({ op }) => op === matmul)) return undefined;
  const normed = count + end - 1;
  if (rest.some(({ inputs }) => inputs.some((place = 0) => place >= count && place < normed))) return undefined;
  const moved = (place: number | undefined): number | undefined => {
    if (place === undefined || place < count) return place === undefined ? undefined : place + 1;
    return place === normed ? 0 : place - end + 1;
  };
  const products = rest.map((call): FusedCall => ({ ...call, inputs: call.inputs.map(moved) }));
  return {
    norm: group(
      body.slice(0, end),
      extraOutputs.filter((index) => index < end),
    ),
    products: group(
      products,
      extraOutputs.filter((index) => index >= end).map((index) => index - end),
    ),
  };
}

function group(body: readonly FusedCall[], extraOutputs: readonly number[]): FusedParams {
  return extraOutputs.length === 0 ? { body } : { body, extraOutputs };
}
