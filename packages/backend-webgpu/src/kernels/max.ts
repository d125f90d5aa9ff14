import type { ReduceParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { extreme } from "./shared/reduce.ts";

export const max: KernelDefinition<ReduceParams> = extreme("max");
