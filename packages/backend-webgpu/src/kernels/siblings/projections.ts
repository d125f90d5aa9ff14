import type { TensorSpec } from "@centella/core";
import { type Projections, projectionPartsOf } from "@centella/gpu-kernels";
import type { Capabilities } from "../../device/capabilities.ts";
import type { Dispatch } from "../shared/kernel.ts";
import { cacheWriters } from "./cacheWriters.ts";
import { writtenProducts } from "./siblingProducts.ts";

/**
 * The dispatch that multiplies one row, rotates and writes to the cache at once; none where products and write are dispatches of their
 * own. `inputs` are those of both.
 */
export function projectionDispatches(
  inputs: readonly (TensorSpec | undefined)[],
  projections: Projections,
  capabilities: Capabilities,
): readonly Dispatch[] {
  const parts = projectionPartsOf(inputs, projections);
  if (parts === undefined) return [];
  const { norm, siblings } = parts;
  const writers = cacheWriters(parts);
  return writers === undefined ? [] : writtenProducts(siblings, capabilities, norm && { call: norm, inputs }, writers);
}
