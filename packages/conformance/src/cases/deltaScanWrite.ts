import { deltaScanWriteGoldens } from "../goldens/deltaScanWrite.ts";
import { type CaseTensor, f32, type OpCases } from "../opCases.ts";
import { type DeltaInputs, deltaInputs } from "./deltaScan.ts";

function inputs({ q: _, state, ...rest }: DeltaInputs): CaseTensor[] {
  return [state, ...Object.values(rest)];
}

const oneToken = deltaInputs({ heads: 2, size: 8, channels: 3, states: 1, decays: 1 }, [0], [0]);

export const deltaScanWrite: OpCases<"deltaScanWrite"> = {
  // Rounding errors of f32 states add up over several tokens.
  tolerance: { f32: { rtol: 1e-5, atol: 4e-6 } },
  cases: [
    ...deltaScanWriteGoldens,
    {
      name: "one token, a decay per head",
      inputs: inputs(deltaInputs({ heads: 3, size: 128, channels: 16, states: 2, decays: 1 }, [5], [1])),
    },
    {
      name: "two sequences, a decay per element, states of no whole vector",
      inputs: inputs(deltaInputs({ heads: 2, size: 7, channels: 6, states: 3, decays: 7 }, [4, 5, 0, 1], [2, 2, 1, 1])),
    },
    { name: "no tokens", inputs: inputs(deltaInputs({ heads: 2, size: 8, channels: 4, states: 1, decays: 1 }, [], [])) },
  ],
  wrong: [
    {
      name: "values",
      inputs: inputs({ ...oneToken, v: f32(1, 1, 3) }),
      error: "ShapeError",
      message: /v \[1, 2, 3\], got f32 \[1, 1, 3\]/,
    },
    {
      name: "temporary",
      inputs: inputs(oneToken),
      error: "ProgramError",
      message: /state to be a persistent, got a temporary/,
    },
  ],
};
