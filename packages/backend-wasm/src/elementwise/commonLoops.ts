import type { DType, TensorSpec } from "@centella/core";
import { type AnyOp, ops } from "@centella/core/backend";
import type { BuildContext } from "../kernel.ts";
import { expressionOf } from "./expressions/index.ts";
import { laneTypes } from "./lanes.ts";
import { emitLoop, type Loop, loopKey } from "./loop.ts";

/** Maximum number of axes around the innermost one. */
const maxOuter = 2;

/** Parameter values that change the code. Other numeric parameters have one representative. */
const samples: Readonly<Record<string, readonly unknown[]>> = {
  dtype: ["f32", "f16", "bf16", "i32"],
  exponent: [0.37, 2, 3, 0.5, -1, -0.5],
};

/**
 * Emits the most common loops: each elementwise op alone, with one dtype where possible, all inputs along an axis or
 * one of them broadcast, and up to two outer axes.
 */
export function emitCommonLoops(emit: BuildContext["emit"]): void {
  for (const op of Object.values(ops) as readonly AnyOp[]) {
    const expression = expressionOf(op.name);
    if (expression === undefined) continue;
    const count = op.inputs.length;
    for (const params of paramsOf(op)) {
      for (const inputs of inputTypes(count)) {
        const output = outputOf(op, inputs, params);
        if (output === undefined) continue;
        for (let fixed = count === 1 ? 1 : 0; fixed <= count; fixed++) {
          const moves = inputs.map((_, i) => i !== fixed);
          for (let outer = 0; outer <= (count === 1 ? 0 : maxOuter); outer++) {
            const places = inputs.map((_, i) => i);
            const loop: Loop = { inputs, moves, outer, body: [{ op: op.name, expression, params, inputs: places, output: output.dtype }] };
            emit(loopKey(loop), (module, name, target) => emitLoop(module, name, target, loop));
          }
        }
      }
    }
  }
}

function inputTypes(count: number): readonly (readonly DType[])[] {
  const same = (["f32", "i32", "bool"] as const).map((dtype): DType[] => Array.from({ length: count }, () => dtype));
  return count === 3 ? [...same, ["bool", "f32", "f32"]] : count === 1 ? [...same, ["f16"], ["bf16"]] : same;
}

/** Parameters that lead to different code. */
function paramsOf({ defaults, required = [] }: AnyOp): readonly object[] {
  let all: Record<PropertyKey, unknown>[] = [{ ...defaults }];
  for (const name of required)
    all = all.flatMap((params) => (samples[String(name)] ?? [0.5]).map((value) => ({ ...params, [name]: value })));
  return all;
}

/** Output for inputs of these dtypes, or undefined if the op does not support them. */
function outputOf(op: AnyOp, inputs: readonly DType[], params: object): TensorSpec | undefined {
  if (inputs.some((dtype) => !laneTypes.includes(dtype))) return undefined;
  try {
    const output = op.infer(
      inputs.map((dtype) => ({ dtype, shape: [4] })),
      params,
    );
    return laneTypes.includes(output.dtype) ? output : undefined;
  } catch {
    return undefined;
  }
}
