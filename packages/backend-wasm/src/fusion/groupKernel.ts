import { type FusedParams, ops } from "@centella/core/backend";
import { fusedLoop } from "../elementwise/kernel.ts";
import type { FusedKernel } from "../kernel.ts";
import { fusedProducts } from "./products.ts";
import { fusedRows, hasRows } from "./rows.ts";
import { fusedScan, hasScan } from "./scan.ts";

/** Fused groups: products of one tensor with what finishes them, rows with what finishes or makes them, scans with the states that they leave, or expressions alone. */
export const fused: FusedKernel = {
  unsupported: (inputs, params, output) => kernelFor(params).unsupported(inputs, params, output),
  emitted: (inputs, params, output) => kernelFor(params).emitted(inputs, params, output),
  build: (context, inputs, params, output, extraOutputs) => kernelFor(params).build(context, inputs, params, output, extraOutputs),
};

function kernelFor(params: FusedParams): FusedKernel {
  if (params.body[0]!.op.name === ops.matmul.name) return fusedProducts;
  if (hasScan(params)) return fusedScan;
  return hasRows(params) ? fusedRows : fusedLoop;
}
