import { UnsupportedError } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readRope } from "../blocks/rope.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** GLM 4 0414, dense: norms before and after both parts of a layer. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const plainRope = readRope(file, "norm", config);
  const rope = hasSections(file, plainRope.dims) ? ({ ...plainRope, type: "neox" } as const) : plainRope;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const middle = program.add(layer.pick(x), layer.norm("post_attention_norm", layer.attention(heads)));
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { kind: "fusedGate" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/**
 * Whether the file divides the rotated pairs among the axes of pictures, which GLM 4.1V does. A text's tokens have one position on all axes.
 * @throws {UnsupportedError} if it leaves pairs to the fourth axis, on which a text has no position
 */
function hasSections(file: MetadataReader, dims: number): boolean {
  const key = file.key("rope.dimension_sections");
  const [time = 0, height = 0, width = 0, extra = 0] = file.metadata.optionalNumbers(key) ?? [];
  if (time === 0 || height === 0) return false;
  const positioned = time + height + width;
  if (extra > 0 && dims / 2 > positioned)
    throw new UnsupportedError(
      `${key} = [${[time, height, width, extra].join(", ")}]`,
      `pairs from the ${positioned}th on would not be rotated`,
    );
  return true;
}
