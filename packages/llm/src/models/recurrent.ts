import type { Ref } from "@centella/core";
import type { Recording } from "../recording.ts";
import { type ModelConfig, type RecurrentConfig, stateNames } from "./config.ts";
import type { Family } from "./family.ts";
import { norm } from "./norms.ts";
import { projectAttention } from "./projections.ts";

/** `x [T, d] -> [n, d]` by a layer with states; `pick` leaves the n tokens that matter of `[T, …]`. */
export function recurrent(r: Recording, family: Family, config: ModelConfig, layer: number, x: Ref, pick: (y: Ref) => Ref): Ref {
  const sizes = config.recurrent!;
  return family.recurrent?.kind === "shortConv"
    ? shortConvolution(r, config, sizes, layer, x, pick)
    : selectiveScan(r, family, config, sizes, layer, x, pick);
}

/** Gated short convolution (Liquid AI, 2025, "LFM2"): `out(c · conv(b · x))` with b, c and x from one projection. */
function shortConvolution(
  r: Recording,
  config: ModelConfig,
  { innerLength: d, taps }: RecurrentConfig,
  layer: number,
  x: Ref,
  pick: (y: Ref) => Ref,
): Ref {
  const { program } = r;
  const block = `blk.${layer}.shortconv`;
  const part = (index: number): Ref => projectAttention(r, `${block}.in_proj`, x, { rows: d, from: index * d, of: 3 * d });
  const [b, c, y] = [part(0), part(1), part(2)];
  const convolved = convolve(r, layer, `${block}.conv.weight`, taps, program.mul(b, y));
  return projectAttention(r, `${block}.out_proj`, pick(program.mul(c, convolved)), { rows: config.embeddingLength });
}

/** Mamba's block (Gu & Dao, 2023, section 3.4); Jamba's also normalises what the scan is steered by. */
function selectiveScan(
  r: Recording,
  family: Family,
  config: ModelConfig,
  { innerLength: inner, taps, stateLength: N, timeStepRank: rank, isNormed }: RecurrentConfig,
  layer: number,
  x: Ref,
  pick: (y: Ref) => Ref,
): Ref {
  const { program, weights, T } = r;
  const block = `blk.${layer}`;
  const [input, gate] = [0, inner].map((from) => projectAttention(r, `${block}.ssm_in`, x, { rows: inner, from, of: 2 * inner }));
  const filtered = convolve(r, layer, `${block}.ssm_conv1d.weight`, taps, input!);
  const u = program.silu(program.add(filtered, weights.vector(`${block}.ssm_conv1d.bias`, inner))); // [T, inner]
  const steering = (name: string, from: number, rows: number): Ref => {
    const y = projectAttention(r, `${block}.ssm_x`, u, { rows, from, of: rank + 2 * N });
    if (weights.has(`${block}.${name}.weight`)) return norm(r, family, `${block}.${name}`, y, rows, config.epsilon);
    const ones = program.constant(new Float32Array(rows).fill(1), "f32", [rows]);
    return isNormed ? program.rmsNorm(y, ones, { eps: config.epsilon }) : y;
  };
  const [steps, b, c] = [steering("ssm_dt_norm", 0, rank), steering("ssm_b_norm", rank, N), steering("ssm_c_norm", rank + N, N)];
  const dt = program.softplus(projectAttention(r, `${block}.ssm_dt`, steps, { rows: inner })); // [T, inner]
  const group = (y: Ref): Ref => program.reshape(y, { shape: [T, 1, N] });
  const { tensor, rows } = r.state(stateNames(layer).scan);
  const heads = program.reshape(u, { shape: [T, inner, 1] });
  const a = weights.vector(`${block}.ssm_a`, [inner, N]);
  const y = program.ssmScan(heads, dt, a, group(b), group(c), tensor, r.positions, rows);
  program.ssmScanWrite(tensor, heads, dt, a, group(b), r.positions, rows);
  const skipped = program.add(program.reshape(y, { shape: [T, inner] }), program.mul(u, weights.vector(`${block}.ssm_d`, inner)));
  return projectAttention(r, `${block}.ssm_out`, pick(program.mul(skipped, program.silu(gate!))), { rows: config.embeddingLength });
}

/** The causal convolution of `x [T, C]` with a filter for each channel, over what the state keeps of earlier tokens. */
function convolve(r: Recording, layer: number, name: string, taps: number, x: Ref): Ref {
  const { program, weights } = r;
  const { tensor, rows } = r.state(stateNames(layer).convolution);
  const y = program.ssmConv(x, weights.vector(name, [Number(x.spec.shape[1]), taps]), tensor, r.positions, rows);
  program.ssmConvWrite(tensor, x, r.positions, rows);
  return y;
}
