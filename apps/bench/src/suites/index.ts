import { elementwise } from "./elementwise.ts";
import { generate } from "./generate.ts";
import { latency } from "./latency.ts";
import { load } from "./load.ts";
import { matmul } from "./matmul.ts";
import { plan } from "./plan.ts";
import { predecessor } from "./predecessor.ts";
import { quantized } from "./quantized.ts";
import type { Suite } from "./suite.ts";
import { tokenize } from "./tokenize.ts";

export const suites: readonly Suite[] = [matmul, elementwise, quantized, plan, generate, latency, load, tokenize, predecessor];
