import type { Value } from "@centella/core";
import type { Layer } from "../layer.ts";

/** Groups of heads whose outputs are projected together. */
export interface OutputGroups {
  readonly groups: number;
  /** Elements of a group's projection. */
  readonly outputRank: number;
}

/** Projects what heads return, `y [T, H, D] -> [n, d]`: by a matrix of each group of heads, and by one of all groups. */
export function groupedOutput(layer: Layer, y: Value, { groups, outputRank }: OutputGroups): Value {
  const { program, T, config } = layer.model;
  const { heads: H, keyLength: D } = config.headsOf(layer.index);
  const columns = (H / groups) * D;
  const picked = layer.pick(program.reshape(y, { shape: [T, H * D] }));
  const inner = Array.from({ length: groups }, (_, group) => {
    const own = program.slice(picked, { axis: 1, start: group * columns, end: (group + 1) * columns });
    return layer.unscaledProduct("attn_output_a", own, { rows: outputRank, from: group * outputRank, of: groups * outputRank });
  });
  return layer.unscaledProduct("attn_output_b", program.concat(inner, { axis: 1 }), { rows: config.embeddingLength });
}
