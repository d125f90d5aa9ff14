import type { Kernels } from "../../kernel.ts";
import { sample } from "../sample.ts";

/** Kernels for programs that sample tokens. */
export const kernels: Kernels = { sample };
