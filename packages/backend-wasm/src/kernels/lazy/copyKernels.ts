import type { Kernels } from "../../kernel.ts";
import { concat } from "../concat.ts";
import { slice } from "../slice.ts";
import { transpose } from "../transpose.ts";

/** Kernels for experts, latent attention, recurrent layers and saved sessions. */
export const kernels: Kernels = { concat, slice, transpose };
