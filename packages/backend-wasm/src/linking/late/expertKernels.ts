import type { Kernels } from "../../kernel.ts";
import { moeMatmul } from "../../kernels/moeMatmul.ts";
import { moeRoute } from "../../kernels/moeRoute.ts";
import { moeWeights } from "../../kernels/moeWeights.ts";

/** Of models with a mixture of experts, or with matrices of latent attention, which are experts that all tokens take. */
export const kernels: Kernels = { moeMatmul, moeRoute, moeWeights };
