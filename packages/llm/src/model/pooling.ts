import type { Metadata } from "@centella/gguf";

/** How the states of a text's tokens become one vector: their mean, the first one's, or the last one's. */
export type Pooling = "mean" | "cls" | "last";

/** Pooling types by the value of `pooling_type` (`llama_pooling_type` of llama.h). "rank": a classification head scores texts. */
const poolingTypes: readonly (Pooling | "rank" | undefined)[] = [undefined, "mean", "cls", "last", "rank"];

/** The pooling that a file states, if it does. */
export function filePooling(metadata: Metadata): Pooling | "rank" | undefined {
  const type = metadata.optionalNumber(`${metadata.string("general.architecture")}.pooling_type`);
  return type === undefined ? undefined : poolingTypes[type];
}
