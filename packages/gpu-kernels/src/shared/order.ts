import type { Emitter, U32 } from "../emitter.ts";
import { orderKey } from "./math.ts";

/** The output of a sort: values or indices. */
export type Give = "values" | "indices";

/** A stable order along an axis. NaN counts as the largest. */
export interface Order {
  readonly axis: number;
  readonly descending: boolean;
  readonly give: Give;
}

/** Sort key of an f32 by its bits: larger for elements that come first. */
export function rank(k: Emitter, bits: U32, descending: boolean): U32 {
  const key = orderKey(k, k.bitcast("f32", bits));
  return descending ? key : k.xor(key, 0xffffffff);
}
