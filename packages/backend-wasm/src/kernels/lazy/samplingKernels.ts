import type { Kernels } from "../../kernel.ts";
import { sample } from "../sample.ts";

/** Ops that sample tokens. */
export const kernels: Kernels = { sample };
