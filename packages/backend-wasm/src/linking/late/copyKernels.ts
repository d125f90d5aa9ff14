import type { Kernels } from "../../kernel.ts";
import { concat } from "../../kernels/concat.ts";
import { slice } from "../../kernels/slice.ts";
import { transpose } from "../../kernels/transpose.ts";

/** Kernels for experts, latent attention, recurrent layers and saved sessions. */
export const kernels: Kernels = { concat, slice, transpose };
