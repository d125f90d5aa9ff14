import type { KernelSource } from "../../src/device/modules.ts";
import type { Assembled } from "./assemble.ts";

/** Most registers of a thread, and most bytes of a block's shared memory. */
interface Budget {
  readonly registers: number;
  readonly sharedBytes: number;
}

/** The release of ptxas that budgets are for, in what it says about itself: others hand out registers otherwise. */
export const budgetedRelease = "cuda_13.0";

type Budgets = readonly (readonly [start: string, Budget])[];

/** Budgets of kernels by the start of their names: the first one that fits. */
const budgets: Readonly<Record<string, Budgets>> = {
  sm_80: [
    ["matmulFew_", { registers: 214, sharedBytes: 164_016 }],
    ["moeMatmulFew_", { registers: 183, sharedBytes: 131_632 }],
    ["matmulManyByWarps_", { registers: 255, sharedBytes: 147_456 }],
    ["decodeUnits_", { registers: 127, sharedBytes: 86_016 }],
    ["attentionFew_", { registers: 254, sharedBytes: 17_412 }],
    ["attentionMany_", { registers: 255, sharedBytes: 102_272 }],
    ["attention_", { registers: 255, sharedBytes: 2112 }],
  ],
  sm_90: [
    ["matmulFew_", { registers: 251, sharedBytes: 203_056 }],
    ["moeMatmulFew_", { registers: 200, sharedBytes: 131_888 }],
    ["matmulManyByWarps_", { registers: 209, sharedBytes: 196_608 }],
    ["decodeUnits_", { registers: 96, sharedBytes: 205_056 }],
    ["attentionFew_", { registers: 255, sharedBytes: 17_412 }],
    ["attentionMany_", { registers: 255, sharedBytes: 102_272 }],
    ["attention_", { registers: 156, sharedBytes: 2112 }],
  ],
  sm_90a: [
    ["matmulFew_", { registers: 252, sharedBytes: 224_160 }],
    ["moeMatmulFew_", { registers: 200, sharedBytes: 224_944 }],
    ["matmulMixed16_", { registers: 110, sharedBytes: 217_632 }],
    ["matmulMixed32_", { registers: 118, sharedBytes: 224_864 }],
    ["matmulMixed64_", { registers: 128, sharedBytes: 224_864 }],
    ["matmulMixed128_", { registers: 164, sharedBytes: 224_864 }],
    ["matmulMixed256_", { registers: 254, sharedBytes: 230_336 }],
    ["matmulMany_", { registers: 168, sharedBytes: 196_736 }],
    ["decodeUnits_", { registers: 96, sharedBytes: 205_056 }],
    ["attentionFew_", { registers: 255, sharedBytes: 17_412 }],
    ["attentionMany_", { registers: 255, sharedBytes: 225_328 }],
    ["attention_", { registers: 156, sharedBytes: 2112 }],
  ],
};

/** Budgets for every target. */
const others: Budgets = [
  ["matmulVector_", { registers: 210, sharedBytes: 0 }],
  ["matmulSiblings", { registers: 198, sharedBytes: 0 }],
  ["matmulLargeTiles_", { registers: 167, sharedBytes: 33_792 }],
  ["conv2d", { registers: 194, sharedBytes: 0 }],
  ["matmulNormed", { registers: 91, sharedBytes: 34_864 }],
  ["matmulColumns_", { registers: 110, sharedBytes: 1024 }],
  ["matmulTiled_", { registers: 72, sharedBytes: 8320 }],
  ["roundRows_", { registers: 44, sharedBytes: 64 }],
  ["packUnits", { registers: 34, sharedBytes: 0 }],
  ["unpackUnits", { registers: 30, sharedBytes: 0 }],
  ["quantize_", { registers: 105, sharedBytes: 0 }],
  ["deltaScan", { registers: 116, sharedBytes: 20 }],
  // Three values of four columns for each lane, or two halves of one.
  ...["softmax", "logSoftmax", "cumsum", "cumprod", "variance"].map(
    (op) => [`${op}_columns`, { registers: 96, sharedBytes: 12_288 }] as const,
  ),
  ["", { registers: 96, sharedBytes: 9600 }],
];

/** Registers with which threads start whose warpgroups then hand them out: a multiprocessor has 65,536, such a block 384 threads. */
const handedOut = 168;

/** What a kernel takes beyond its budget; undefined if nothing. */
export function passedBudget({ ptx, entry, sharedBytes }: KernelSource, assembled: Assembled, target: string): string | undefined {
  const [, budget] = [...(budgets[target] ?? []), ...others].find(([start]) => entry.startsWith(start))!;
  const most = ptx.includes("setmaxnreg") ? { ...budget, registers: handedOut } : budget;
  const takes = { registers: assembled.registers, sharedBytes: sharedBytes + assembled.sharedBytes };
  const isWithin = takes.registers <= most.registers && takes.sharedBytes <= most.sharedBytes;
  const describe = (each: Budget): string => `${each.registers} registers and ${each.sharedBytes} bytes of shared memory`;
  return isWithin ? undefined : `${entry} for ${target}: expected at most ${describe(most)}, got ${describe(takes)}`;
}
