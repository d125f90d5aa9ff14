import type { Kernels } from "../../kernel.ts";
import { moeMatmul } from "../moeMatmul.ts";
import { moeRoute } from "../moeRoute.ts";
import { moeWeights } from "../moeWeights.ts";

/** Mixture-of-experts ops. Latent attention uses them too: its matrices act as experts that every token chooses. */
export const kernels: Kernels = { moeMatmul, moeRoute, moeWeights };
