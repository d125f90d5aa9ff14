import type { ReduceParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { summing } from "./shared/reduce.ts";

export const mean: KernelDefinition<ReduceParams> = summing("mean");
