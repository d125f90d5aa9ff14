import type { Kernels } from "../../kernel.ts";
import { ssmConv } from "../../kernels/ssmConv.ts";
import { ssmConvWrite } from "../../kernels/ssmConvWrite.ts";
import { ssmScan } from "../../kernels/ssmScan.ts";
import { ssmScanWrite } from "../../kernels/ssmScanWrite.ts";

/** Kernels for recurrent models. */
export const kernels: Kernels = { ssmConv, ssmConvWrite, ssmScan, ssmScanWrite };
