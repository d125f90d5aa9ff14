import { tupleOf } from "@centella/quant/checks";
import type { HostTensor } from "../program/op.ts";
import type { Reference } from "../reference/referenceType.ts";
import { flat } from "./conv1d.ts";
import { conv2d } from "./conv2d.reference.ts";

export const conv1d: Reference<"conv1d"> = ([x, w], params, y) =>
  conv2d([image(x), image(w)], { ...flat(params), groups: params.groups }, image(y));

function image({ spec: { dtype, shape }, data }: HostTensor): HostTensor {
  const [count, channels, width] = tupleOf(shape, 3);
  return { spec: { dtype, shape: [count, channels, 1, width] }, data };
}
