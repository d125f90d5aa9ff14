import type { FusedParams } from "@centella/core/backend";
import { fusedLoop } from "../elementwise/kernel.ts";
import type { FusedKernel } from "../kernel.ts";
import { traitsOf } from "../kernels/traits.ts";
import { fusedProducts } from "./products.ts";
import { fusedRows } from "./rows.ts";
import { fusedScan } from "./scan.ts";

/**
 * Kernel of fused groups. Products, scans and row ops (norms, softmax) anchor groups with kernels of their own; other
 * groups are elementwise loops.
 */
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
