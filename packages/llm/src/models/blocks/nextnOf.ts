import type { ModelDescription } from "../../model/modelBuilder.ts";
import type { ModelConfig } from "../config.ts";
import type { NextnLayer, NextnTraits } from "./nextn.ts";

/** How a file's first block after the layers predicts further tokens, if the file has such a block. Its code is loaded where texts are drafted. */
export function nextnOf(config: ModelConfig, layer: NextnLayer, traits?: NextnTraits): Pick<ModelDescription, "nextn"> {
  if (config.nextnBlocks === 0) return {};
  return { nextn: async () => (await import("./nextn.ts")).nextnBlock(config, layer, traits) };
}
