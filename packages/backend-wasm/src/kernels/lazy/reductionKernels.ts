import type { Kernels } from "../../kernel.ts";
import { all } from "../all.ts";
import { any } from "../any.ts";
import { argmax } from "../argmax.ts";
import { argmin } from "../argmin.ts";
import { max } from "../max.ts";
import { mean } from "../mean.ts";
import { min } from "../min.ts";
import { prod } from "../prod.ts";
import { sum } from "../sum.ts";

/** Reductions: used by mixtures of experts. */
export const kernels: Kernels = { all, any, argmax, argmin, max, mean, min, prod, sum };
