/** How the states of a text's tokens become one vector: their mean, the first one's, or the last one's. */
export type Pooling = "mean" | "cls" | "last";

/** Pooling types by the value of `pooling_type` (`llama_pooling_type` of llama.h). */
export const poolingTypes: readonly (Pooling | undefined)[] = [undefined, "mean", "cls", "last"];
