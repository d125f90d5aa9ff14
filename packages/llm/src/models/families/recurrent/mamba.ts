import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { mambaBlock, readAttentionFree, readMamba } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";

/** Mamba and Falcon Mamba. */
export const family: Family = (file) => {
  const ssm = readMamba(file);
  return { config: readAttentionFree(file, ssm), forward: (m) => attentionFree(m, (layer, x) => mambaBlock(layer, x, ssm)) };
};

/** The forward pass of a model whose layers are state spaces alone. */
export function attentionFree(m: ModelBuilder, block: (layer: Layer, x: Value) => Value): Value {
  let x = embed(m);
  for (const layer of layersOf(m)) x = m.program.add(layer.pick(x), block(layer, layer.norm("attn_norm", x)));
  return logits(m, outputNorm(m, x));
}
