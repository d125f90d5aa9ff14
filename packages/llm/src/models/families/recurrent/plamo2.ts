import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { convolve, readMamba, type SsmConfig, scan, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** PLaMo 2: state spaces with heads as in Mamba 2 and parameters as in Mamba 1, some layers with attention, norms around both parts. */
export const family: Family = (file) => {
  const ssm = readSsm(file);
  const config = withStates(readConfig(file, { isHybrid: true }), ssm);
  const rope = readRope(file, "neox", config);
  const scale = 1 / Math.sqrt(config.valueLength);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      m.ignore("blk.*.attn_qkv.scale", "blk.*.ssm_in.scale", "blk.*.ssm_out.scale");
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const mixed = config.hasCache(layer.index)
          ? layer.attention(layer.rope(layer.qkv(input, { norm: "perHeadIfPresent" }), rope), { scale })
          : stateSpace(layer, input, ssm);
        const middle = program.add(layer.pick(x), layer.norm("post_attention_norm", mixed));
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { kind: "fusedGate" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/** Heads under the key of Mamba's rank of time steps, whose width the files do not state. @throws {ModelError} */
function readSsm(file: MetadataReader): SsmConfig {
  const ssm = readMamba(file);
  const d = file.requiredSize("embedding_length");
  file.finish();
  const heads = ssm.dtRank;
  if (ssm.innerLength % heads === 0) return { ...ssm, heads, dtRank: Math.max(64, Math.floor(d / 16)) };
  throw new ModelError(
    `metadata: expected ${file.key("ssm.inner_size")} to be a multiple of ssm.time_step_rank, got ${ssm.innerLength} and ${heads}; convert the model again`,
  );
}

/** `x [T, d] -> [n, d]` */
function stateSpace(layer: Layer, x: Value, { innerLength: inner, kernelSize, stateLength: N, heads: H, dtRank }: SsmConfig): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const P = inner / H;
  // Each head's gates, then its channels.
  const projected = program.reshape(layer.linear("ssm_in", x, { rows: 2 * inner }), { shape: [T, H, 2, P] });
  const part = (index: number): Value =>
    program.reshape(program.slice(projected, { axis: 2, start: index, end: index + 1 }), { shape: [T, inner] });
  const u = program.silu(convolve(layer, "ssm_conv1d.weight", kernelSize, part(1))); // [T, inner]
  const parameter = (norm: string, from: number, rows: number): Value =>
    layer.norm(norm, layer.linear("ssm_x", u, { rows, from, of: 2 * N + dtRank }));
  const oneGroup = (y: Value): Value => program.reshape(y, { shape: [T, 1, N] });
  const [b, c] = [oneGroup(parameter("ssm_b_norm", 0, N)), oneGroup(parameter("ssm_c_norm", N, N))];
  const dt = program.softplus(layer.linear("ssm_dt", parameter("ssm_dt_norm", 2 * N, dtRank), { rows: H }));
  const channels = program.reshape(u, { shape: [T, H, P] });
  const y = scan(layer, { x: channels, dt, a: weights.vector("ssm_a", [H, 1]), b, c });
  const skipped = program.add(y, program.mul(channels, weights.vector("ssm_d", [H, 1])));
  const gated = program.mul(program.reshape(skipped, { shape: [T, inner] }), program.silu(part(0)));
  return layer.linear("ssm_out", layer.pick(gated), { rows: config.embeddingLength });
}
