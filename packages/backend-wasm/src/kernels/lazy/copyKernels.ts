import type { Kernels } from "../../kernel.ts";
import { concat } from "../concat.ts";
import { slice } from "../slice.ts";
import { transpose } from "../transpose.ts";

/** Strided copies: used by mixtures of experts, latent attention, recurrent layers and saved sessions. */
export const kernels: Kernels = { concat, slice, transpose };
