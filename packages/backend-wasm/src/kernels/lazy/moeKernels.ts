import type { Kernels } from "../../kernel.ts";
import { moeMatmul } from "../moeMatmul.ts";
import { moeRoute } from "../moeRoute.ts";
import { moeWeights } from "../moeWeights.ts";

/** Kernels for mixtures of experts, and for the matrices of latent attention, which act as experts that every token uses. */
export const kernels: Kernels = { moeMatmul, moeRoute, moeWeights };
