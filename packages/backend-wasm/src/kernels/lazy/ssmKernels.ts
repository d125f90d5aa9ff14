import type { Kernels } from "../../kernel.ts";
import { deltaScan } from "../deltaScan.ts";
import { deltaScanWrite } from "../deltaScanWrite.ts";
import { ssmConv } from "../ssmConv.ts";
import { ssmConvWrite } from "../ssmConvWrite.ts";
import { ssmScan } from "../ssmScan.ts";
import { ssmScanWrite } from "../ssmScanWrite.ts";

/** Ops of recurrent layers. */
export const kernels: Kernels = { deltaScan, deltaScanWrite, ssmConv, ssmConvWrite, ssmScan, ssmScanWrite };
