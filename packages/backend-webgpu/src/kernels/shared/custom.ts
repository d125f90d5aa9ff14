import type { TensorSpec } from "@centella/core";
import { type AnyOp, elementAt, isQuantized, resolveSpec } from "@centella/core/backend";
import { isHalf } from "@centella/quant";
import type { WgslKernel } from "../../customKernel.ts";
import { loader } from "../../wgsl/emitter.ts";
import { defineDispatch, elementOf, input, output } from "../../wgsl/module.ts";
import type { Kernel } from "./kernel.ts";

const defaultLanes = 64;

/** The kernel that came with an op of the user's own: one dispatch. */
export function customKernel(op: AnyOp, { body, declarations, lanes = defaultLanes, uniforms = {}, dispatch }: WgslKernel): Kernel {
  return {
    unsupported(inputs, _params, y) {
      const odd = inputs.find((spec) => spec !== undefined && spec.dtype !== "i32" && !isFloat(spec));
      if (odd !== undefined) return `custom kernels do not read ${odd.dtype} here`;
      return y.dtype === "f32" || y.dtype === "i32" ? undefined : `custom kernels do not write ${y.dtype} here`;
    },
    dispatches({ inputs, output: y }, params) {
      const specs = inputs as readonly TensorSpec[];
      const loaders = specs.flatMap((spec, i) => (isFloat(spec) ? loader(elementAt(op.inputs, i), spec.dtype) : []));
      const own = defineDispatch({
        bindings: [...specs.map(({ dtype }, i) => input(elementAt(op.inputs, i), i, elementOf(dtype))), output("y", elementOf(y.dtype))],
        uniforms,
        lanes,
        declarations: [...loaders, ...(declarations === undefined ? [] : [declarations])],
        body,
        sizeIn(dims) {
          const resolved = { inputs: specs.map((spec) => resolveSpec(spec, dims)), params, output: resolveSpec(y, dims) };
          const { groups, values = {} } = dispatch(resolved);
          return { groups, values };
        },
      });
      return [own];
    },
  };
}

function isFloat({ dtype }: TensorSpec): boolean {
  return dtype === "f32" || isHalf(dtype) || isQuantized(dtype);
}
