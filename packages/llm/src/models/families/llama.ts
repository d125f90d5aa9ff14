import type { Family } from "../family.ts";
import { transformer } from "../transformer.ts";

/** Llama 1 to 3, Mistral 7B, Mixtral, SmolLM and other models in Llama's form. */
export const family: Family = (file) =>
  transformer(file, {
    ropeType: "norm",
    attention: { scale: file.positive("attention.scale") },
    feedForward: { scales: true },
    experts: { normalize: true },
  });
