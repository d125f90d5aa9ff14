import { evaluateBody, type FusedParams, type TensorSpec } from "@centella/core";
import type { F32, S32 } from "../ptx/types.ts";
import { broadcastIndices } from "./shared/binary.ts";
import { elementwise, input, type Kernel, output } from "./shared/kernel.ts";

/** One launch for a group of elementwise calls: a thread computes the whole body for its element in registers. */
export function fusedKernel(elementOf: (op: string) => Kernel["element"]): Kernel<FusedParams> {
  return {
    unsupported(inputs, { body }) {
      const apart = body.find(({ op }) => elementOf(op.name) === undefined);
      if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
      const odd = [...inputs, ...body.map((call) => call.output)].find((spec) => spec !== undefined && !isWord(spec));
      return odd && `${odd.dtype} is not computed with in fused groups`;
    },
    launches(call, { body }) {
      const specs = call.inputs as readonly TensorSpec[];
      const { shape, dtype } = call.output;
      const args = { ...Object.fromEntries(specs.map((_, i) => [`x${i}`, input(i)])), y: output };
      return [
        elementwise(call, "fused", { shape, args }, (scope, index) => {
          const { k, pointer } = scope;
          const at = broadcastIndices(
            scope,
            shape,
            specs.map((spec) => spec.shape),
            index,
          );
          const loaded = specs.map((spec, i): F32 | S32 =>
            spec.dtype === "i32"
              ? k.load("s32", k.at("s32", pointer(`x${i}`, "s32"), at[i]!))
              : k.load("f32", k.at("f32", pointer(`x${i}`, "f32"), at[i]!)),
          );
          const result = evaluateBody(loaded, body, ({ op, params, output: made }, used) =>
            elementOf(op.name)!(k, used as readonly (F32 | S32)[], params, made.dtype),
          );
          if (dtype === "i32") k.store("s32", k.at("s32", pointer("y", "s32"), index), result as S32);
          else k.store("f32", k.at("f32", pointer("y", "f32"), index), result as F32);
        }),
      ];
    },
  };
}

function isWord({ dtype }: TensorSpec): boolean {
  return dtype === "f32" || dtype === "i32";
}
