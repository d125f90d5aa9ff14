import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelDescription } from "../../../model/modelBuilder.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import type { ExpertsOptions } from "../../blocks/experts.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readShortConvolution, shortConvolution, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** LFM2, dense. */
export const family: Family = (file) => lfm2Model(file, {});

/** The model of an LFM2 file: short convolutions, and attention in some layers. */
export async function lfm2Model(file: MetadataReader, options: { readonly experts?: ExpertsOptions }): Promise<ModelDescription> {
  const convolution = readShortConvolution(file);
  const config = withStates(readConfig(file, { isHybrid: true }), convolution);
  const rope = readRope(file, "neox", config);
  const windows = readWindow(file, { period: 0 });
  const feedForward = await openFeedForward(file, options);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", layer.enter(x));
        const mixed = config.hasCache(layer.index)
          ? layer.attention(layer.rope(layer.qkv(input, { norm: "head" }), rope), { window: windows.at(layer.index) })
          : shortConvolution(layer, input, convolution);
        const middle = program.add(layer.pick(x), mixed);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x, "token_embd_norm"));
    },
  };
}
