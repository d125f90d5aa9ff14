import type { FusedParams } from "@centella/core/backend";
import { fusedLoop } from "../elementwise/kernel.ts";
import type { FusedKernel } from "../kernel.ts";
import { traitsOf } from "../kernels/traits.ts";
import { fusedProducts } from "./products.ts";
import { fusedRows } from "./rows.ts";
import { fusedScan } from "./scan.ts";

/** Fused groups: products of one tensor with what finishes them, rows with what finishes or makes them, scans with the states that they leave, or expressions alone. */
export const fused: FusedKernel = {
  unsupported: (inputs, params, output) => kernelFor(params).unsupported(inputs, params, output),
  emitted: (inputs, params, output) => kernelFor(params).emitted(inputs, params, output),
  build: (context, inputs, params, output, extraOutputs) => kernelFor(params).build(context, inputs, params, output, extraOutputs),
};

function kernelFor({ body }: FusedParams): FusedKernel {
  const [first] = body;
  const anchors = first && traitsOf(first.op).anchors;
  if (anchors === "products") return fusedProducts;
  if (anchors === "scan") return fusedScan;
  return body.some(({ op }) => traitsOf(op).anchors === "rows") ? fusedRows : fusedLoop;
}
