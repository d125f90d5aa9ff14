import { type Shape, sameShape } from "@centella/core";
import { offset, stridesOf, unflatten } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import type { Extent, F32, S32 } from "../../ptx/types.ts";
import { elementwise, input, type Kernel, output, type Scope } from "./kernel.ts";

/** Kernel of a binary op with numpy broadcasting on f32 and, if it has one, on i32. */
export function binary(name: string, f32: (k: PtxBuilder, a: F32, b: F32) => F32, i32?: (k: PtxBuilder, a: S32, b: S32) => S32): Kernel {
  return {
    element: (k, [a, b], _params, dtype) =>
      dtype === "i32" && i32 !== undefined ? i32(k, a as S32, b as S32) : f32(k, a as F32, b as F32),
    launches: (call) => {
      const { shape, dtype } = call.output;
      const args = { a: input(0), b: input(1), y: output };
      return [
        elementwise(call, `${name}_${dtype}`, { shape, args }, (scope, index) => {
          const { k, pointer } = scope;
          const at = broadcastIndices(scope, shape, [call.inputs[0]!.shape, call.inputs[1]!.shape], index);
          if (dtype === "i32" && i32 !== undefined) {
            const a = k.load("s32", k.at("s32", pointer("a", "s32"), at[0]!));
            const b = k.load("s32", k.at("s32", pointer("b", "s32"), at[1]!));
            k.store("s32", k.at("s32", pointer("y", "s32"), index), i32(k, a, b));
          } else {
            const a = k.load("f32", k.at("f32", pointer("a", "f32"), at[0]!));
            const b = k.load("f32", k.at("f32", pointer("b", "f32"), at[1]!));
            k.store("f32", k.at("f32", pointer("y", "f32"), index), f32(k, a, b));
          }
        }),
      ];
    },
  };
}

/** Flat indices into inputs that broadcast to `shape`, for the element `index` of it. */
export function broadcastIndices(scope: Scope, shape: Shape, inputs: readonly Shape[], index: Extent): readonly Extent[] {
  const { k } = scope;
  let indices: readonly Extent[] | undefined;
  return inputs.map((from) => {
    if (sameShape(from, shape)) return index;
    if (from.every((dim) => dim === 1)) return 0;
    indices ??= unflatten(k, index, scope.extents(shape));
    const own = scope.extents(from);
    const strides = stridesOf(k, own).map((stride, axis) => (from[axis] === 1 ? 0 : stride));
    return offset(k, indices.slice(shape.length - from.length), strides);
  });
}
