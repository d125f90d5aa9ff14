import type { Dim, Value } from "@centella/core";
import type { Connection } from "./hyperConnections.ts";
import type { Layer } from "./layer.ts";
import { type Section, unitNorm } from "./section.ts";

/** Hyper-connections by matrices of a low rank: a part reads the mean of gated states, and its output is added to each state by a factor. */
export interface LowRankConnections {
  /** Number of states S. */
  readonly count: number;
  /** Elements between both matrices of the gates. */
  readonly rank: number;
}

/** Connects a part of a layer with the states `[T, S, d]`. Attention returns the rows that {@link Layer.pick} leaves. */
export function connectLowRank(layer: Layer, part: "attn" | "ffn", states: Value, config: LowRankConnections): Connection {
  const { program } = layer.model;
  const { count: S } = config;
  const { mean, flat } = gatedMean(layer, `hc_${part}`, states, config);
  const factors = program.scale(layer.linear(`hc_${part}_inject`, flat, { rows: S }), { by: 1 / S });
  const weights = program.scale(program.sigmoid(factors), { by: 2 });
  const picked = (y: Value): Value => (part === "attn" ? layer.pick(y) : y);
  return {
    input: mean,
    after(output) {
      const [n, d] = output.spec.shape as readonly [Dim, number];
      const each = program.reshape(picked(weights), { shape: [n, S, 1] });
      return program.add(picked(states), program.mul(program.reshape(output, { shape: [n, 1, d] }), each));
    },
  };
}

/** What the output layer reads of the states: `[n, S, d] -> [n, d]`. */
export function collapseLowRank(section: Section, states: Value, config: LowRankConnections): Value {
  return gatedMean(section, "output_hc", states, config).mean;
}

/** The mean of the normed states by gates for each element `[n, d]`, and the normed states as one vector `[n, S · d]`. */
function gatedMean(
  section: Section,
  name: string,
  states: Value,
  { count: S, rank }: LowRankConnections,
): { readonly mean: Value; readonly flat: Value } {
  const { model, weights } = section;
  const { program } = model;
  const [n, , d] = states.spec.shape as readonly [Dim, number, number];
  const normed = program.mul(unitNorm(model, states), weights.vector(`${name}_norm.weight`, [S, d]));
  const flat = program.reshape(normed, { shape: [n, S * d] });
  const inner = program.silu(program.scale(section.linear(`${name}_down`, flat, { rows: rank }), { by: 1 / S }));
  const gates = program.sigmoid(section.linear(`${name}_up`, inner, { rows: S * d }));
  const gated = program.reshape(program.mul(flat, gates), { shape: [n, S, d] });
  return { mean: program.scale(program.sum(gated, { axis: 1 }), { by: 1 / S }), flat };
}
