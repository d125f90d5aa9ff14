import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { centredWindow } from "../../blocks/attention/centredWindow.ts";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, outputNorm, states } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { Section } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** EmbeddingGemma: Gemma 3 as an encoder, whose windows have tokens on both sides. */
export const family: Family = (file) => {
  const config = readConfig(file, { isEncoder: true });
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...unscaled(globalRope), base: file.positive("rope.freq_base_swa") ?? 10_000 };
  const windows = readWindow(file, { period: 6 });
  const dense = readDense(file, config.embeddingLength);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, Math.sqrt(config.embeddingLength));
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x), { norm: "head" }), window > 0 ? localRope : globalRope);
        const attended = layer.norm("post_attention_norm", layer.attention(heads, centredWindow(m, window)));
        const middle = program.add(layer.pick(x), attended);
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation: "gelu" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return states(m, dense(m, outputNorm(m, x)));
    },
  };
};

/**
 * Products with the matrices of `sentence-transformers` after the pooling, if the file has them: `[n, d] -> [n, d]`. They are linear, so
 * that they can be computed before it.
 */
function readDense(file: MetadataReader, width: number): (m: ModelBuilder, x: Value) => Value {
  const inner = { dense_2: file.size("dense_2_feat_out"), dense_3: file.size("dense_3_feat_in") };
  return (m, x) => {
    const section = new Section(m, "output");
    const has = (name: string): boolean => section.weights.has(`${name}.weight`);
    const between = has("dense_2") ? section.linear("dense_2", x, { rows: inner.dense_2 ?? width }) : x;
    return has("dense_3") ? section.linear("dense_3", between, { rows: width }) : between;
  };
}
