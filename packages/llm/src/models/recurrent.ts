import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import type { RecurrentConfig } from "./layerConfig.ts";
import { norm } from "./norms.ts";
import { projectAttention } from "./projections.ts";
import { stateNames } from "./rareConfig.ts";

/** `x [T, d] -> [n, d]` by a layer with states; `pick` leaves the n tokens that matter of `[T, …]`. */
export function recurrent(r: ModelBuilder, family: Family, config: ModelConfig, layer: number, x: Value, pick: (y: Value) => Value): Value {
  const sizes = config.recurrent!;
  switch (family.recurrent!.kind) {
    case "shortConv":
      return shortConvolution(r, config, sizes, layer, x, pick);
    case "mamba":
      return selectiveScan(r, family, config, sizes, layer, x, pick);
    case "mamba2":
      return headwiseScan(r, config, sizes, layer, x, pick);
  }
}

/** Gated short convolution (Liquid AI, 2025, "LFM2"): `out(c · conv(b · x))` with b, c and x from one projection. */
function shortConvolution(
  r: ModelBuilder,
  config: ModelConfig,
  { innerLength: d, taps }: RecurrentConfig,
  layer: number,
  x: Value,
  pick: (y: Value) => Value,
): Value {
  const { program } = r;
  const block = `blk.${layer}.shortconv`;
  const part = (index: number): Value => projectAttention(r, `${block}.in_proj`, x, { rows: d, from: index * d, of: 3 * d });
  const [b, c, y] = [part(0), part(1), part(2)];
  const convolved = convolve(r, layer, `${block}.conv.weight`, taps, program.mul(b, y));
  return projectAttention(r, `${block}.out_proj`, pick(program.mul(c, convolved)), { rows: config.embeddingLength });
}

/** Mamba's block (Gu & Dao, 2023, section 3.4); Jamba's also normalises what the scan is steered by. */
function selectiveScan(
  r: ModelBuilder,
  family: Family,
  config: ModelConfig,
  { innerLength: inner, taps, stateLength: N, timeStepRank: rank, isNormed }: RecurrentConfig,
  layer: number,
  x: Value,
  pick: (y: Value) => Value,
): Value {
  const { program, weights, T } = r;
  const block = `blk.${layer}`;
  const [input, gate] = [0, inner].map((from) => projectAttention(r, `${block}.ssm_in`, x, { rows: inner, from, of: 2 * inner }));
  const filtered = convolve(r, layer, `${block}.ssm_conv1d.weight`, taps, input!);
  const u = program.silu(program.add(filtered, weights.vector(`${block}.ssm_conv1d.bias`, inner))); // [T, inner]
  const steering = (name: string, from: number, rows: number): Value => {
    const y = projectAttention(r, `${block}.ssm_x`, u, { rows, from, of: rank + 2 * N });
    if (weights.has(`${block}.${name}.weight`)) return norm(r, family, `${block}.${name}`, y, rows, config.epsilon);
    const ones = program.constant(new Float32Array(rows).fill(1), "f32", [rows]);
    return isNormed ? program.rmsNorm(y, ones, { eps: config.epsilon }) : y;
  };
  const [steps, b, c] = [steering("ssm_dt_norm", 0, rank), steering("ssm_b_norm", rank, N), steering("ssm_c_norm", rank + N, N)];
  const dt = program.softplus(projectAttention(r, `${block}.ssm_dt`, steps, { rows: inner })); // [T, inner]
  const group = (y: Value): Value => program.reshape(y, { shape: [T, 1, N] });
  const a = weights.vector(`${block}.ssm_a`, [inner, N]);
  const y = scan(r, layer, { x: program.reshape(u, { shape: [T, inner, 1] }), dt, a, b: group(b), c: group(c) });
  const skipped = program.add(program.reshape(y, { shape: [T, inner] }), program.mul(u, weights.vector(`${block}.ssm_d`, inner)));
  return projectAttention(r, `${block}.ssm_out`, pick(program.mul(skipped, program.silu(gate!))), { rows: config.embeddingLength });
}

/** Mamba-2's block (Dao & Gu, 2024, section 7): all that steers the scan comes from one projection, and its output is normalised in groups. */
function headwiseScan(
  r: ModelBuilder,
  config: ModelConfig,
  { innerLength: inner, filteredLength: filtered, taps, stateLength: N, heads: H, groups: G }: RecurrentConfig,
  layer: number,
  x: Value,
  pick: (y: Value) => Value,
): Value {
  const { program, weights, T } = r;
  const block = `blk.${layer}`;
  const of = inner + filtered + H;
  const part = (from: number, rows: number): Value => projectAttention(r, `${block}.ssm_in`, x, { rows, from, of });
  const convolved = convolve(r, layer, `${block}.ssm_conv1d.weight`, taps, part(inner, filtered));
  const u = program.silu(program.add(convolved, weights.vector(`${block}.ssm_conv1d.bias`, filtered))); // [T, inner + 2 · G · N]
  const piece = (start: number, shape: readonly [number, number]): Value =>
    program.reshape(program.slice(u, { axis: -1, start, end: start + shape[0] * shape[1] }), { shape: [T, ...shape] });
  const channels = piece(0, [H, inner / H]); // [T, H, P]
  const dt = program.softplus(program.add(part(inner + filtered, H), weights.vector(`${block}.ssm_dt.bias`, H))); // [T, H]
  const a = weights.vector(`${block}.ssm_a`, [H, 1]);
  const y = scan(r, layer, { x: channels, dt, a, b: piece(inner, [G, N]), c: piece(inner + G * N, [G, N]) });
  const skipped = program.add(y, program.mul(channels, weights.vector(`${block}.ssm_d`, [H, 1])));
  const gated = program.mul(program.reshape(skipped, { shape: [T, inner] }), program.silu(part(0, inner)));
  const grouped = program.reshape(gated, { shape: [T, G, inner / G] });
  const ones = program.constant(new Float32Array(inner / G).fill(1), "f32", [inner / G]);
  const normed = program.mul(
    program.rmsNorm(grouped, ones, { eps: config.epsilon }),
    weights.vector(`${block}.ssm_norm.weight`, [G, inner / G]),
  );
  return projectAttention(r, `${block}.ssm_out`, pick(program.reshape(normed, { shape: [T, inner] })), { rows: config.embeddingLength });
}

/** Inputs of a layer's scan; see the op `ssmScan`. */
type Scan = Readonly<Record<"x" | "dt" | "a" | "b" | "c", Value>>;

/** `[T, H, P]`; the layer's state goes on. */
function scan({ program, positions, ...r }: ModelBuilder, layer: number, { x, dt, a, b, c }: Scan): Value {
  const { tensor, rows } = r.state(stateNames(layer).scan);
  const y = program.ssmScan(x, dt, a, b, c, tensor, positions, rows);
  program.ssmScanWrite(tensor, x, dt, a, b, positions, rows);
  return y;
}

/** The causal convolution of `x [T, C]` with a filter for each channel, over what the state keeps of earlier tokens. */
function convolve(r: ModelBuilder, layer: number, name: string, taps: number, x: Value): Value {
  const { program, weights } = r;
  const { tensor, rows } = r.state(stateNames(layer).convolution);
  const y = program.ssmConv(x, weights.vector(name, [Number(x.spec.shape[1]), taps]), tensor, r.positions, rows);
  program.ssmConvWrite(tensor, x, r.positions, rows);
  return y;
}
