import type { Kernels } from "../../kernel.ts";
import { concat } from "../../kernels/concat.ts";
import { slice } from "../../kernels/slice.ts";
import { transpose } from "../../kernels/transpose.ts";

/** Of models with experts, latent attention or recurrent layers, and of sessions that are saved. */
export const kernels: Kernels = { concat, slice, transpose };
