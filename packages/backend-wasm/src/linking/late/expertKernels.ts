import type { Kernels } from "../../kernel.ts";
import { moeMatmul } from "../../kernels/moeMatmul.ts";
import { moeRoute } from "../../kernels/moeRoute.ts";
import { moeWeights } from "../../kernels/moeWeights.ts";

/** Kernels for mixtures of experts, and for the matrices of latent attention, which act as experts that every token uses. */
export const kernels: Kernels = { moeMatmul, moeRoute, moeWeights };
