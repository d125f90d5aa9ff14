import type { Kernels } from "../../kernel.ts";
import { sample } from "../../kernels/sample.ts";

/** Of programs that choose tokens themselves. */
export const kernels: Kernels = { sample };
