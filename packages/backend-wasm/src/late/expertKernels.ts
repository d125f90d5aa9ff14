import type { Kernels } from "../kernel.ts";
import { moeRoute } from "../kernels/moeRoute.ts";
import { moeWeights } from "../kernels/moeWeights.ts";

/** Of models with a mixture of experts. */
export const kernels: Kernels = { moeRoute, moeWeights };
