import { deltaScanGoldens } from "../goldens/deltaScan.ts";
import { type CaseTensor, f32, i32, type OpCases } from "../opCases.ts";

/** Small enough that states stay bounded. */
const keys = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: -0.3, high: 0.3 } });
const decays = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: 0.3, high: 1 } });

export interface DeltaSizes {
  readonly heads: number;
  /** Elements of keys. */
  readonly size: number;
  /** Elements of values. */
  readonly channels: number;
  readonly states: number;
  /** Decays per head: `size` or 1. */
  readonly decays: number;
}

/** Inputs by name, in the op's order. */
export type DeltaInputs = Readonly<Record<"q" | "k" | "v" | "decay" | "a" | "b" | "state" | "positions" | "rows", CaseTensor>>;

/** Inputs for tokens at `positions`, whose states are in `rows`. */
export function deltaInputs({ heads, size, channels, states, decays: each }: DeltaSizes, positions: number[], rows: number[]): DeltaInputs {
  const tokens = positions.length;
  return {
    q: keys(tokens, heads, size),
    k: keys(tokens, heads, size),
    v: f32(tokens, heads, channels),
    decay: decays(tokens, heads, each),
    a: keys(tokens, heads, size),
    b: keys(tokens, heads, size),
    state: f32(states, heads, channels, size),
    positions: i32([tokens], positions),
    rows: i32([tokens], rows),
  };
}

const valid = (sizes: DeltaSizes, positions: number[], rows: number[]): CaseTensor[] => Object.values(deltaInputs(sizes, positions, rows));
const oneToken = deltaInputs({ heads: 2, size: 8, channels: 3, states: 1, decays: 1 }, [0], [0]);

export const deltaScan: OpCases<"deltaScan"> = {
  // f32 sums of up to 300 products, over states whose f32 rounding errors add up over several tokens.
  tolerance: { f32: { rtol: 1e-4, atol: 1e-5 } },
  cases: [
    ...deltaScanGoldens,
    { name: "one token, a decay per head", inputs: valid({ heads: 3, size: 128, channels: 16, states: 2, decays: 1 }, [5], [1]) },
    {
      name: "a prompt, states of no whole vector",
      inputs: valid({ heads: 2, size: 7, channels: 5, states: 1, decays: 7 }, [0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 0]),
    },
    {
      name: "two sequences, a decay per element",
      inputs: valid({ heads: 2, size: 8, channels: 6, states: 3, decays: 8 }, [4, 5, 0, 1], [2, 2, 1, 1]),
    },
    { name: "keys of 300 elements", inputs: valid({ heads: 1, size: 300, channels: 3, states: 1, decays: 1 }, [0, 1, 2], [0, 0, 0]) },
    { name: "no tokens", inputs: valid({ heads: 2, size: 8, channels: 4, states: 1, decays: 1 }, [], []) },
  ],
  wrong: [
    {
      name: "queries",
      inputs: Object.values({ ...oneToken, q: keys(1, 2, 4) }),
      error: "ShapeError",
      message: /q \[1, 2, 8\]/,
    },
    {
      name: "decays",
      inputs: Object.values({ ...oneToken, decay: decays(1, 2, 3) }),
      error: "ShapeError",
      message: /decay \[1, 2, 8\]/,
    },
    {
      name: "state",
      inputs: Object.values({ ...oneToken, state: f32(1, 2, 8, 3) }),
      error: "ShapeError",
      message: /state \[1, 2, 3, 8\]/,
    },
  ],
};
