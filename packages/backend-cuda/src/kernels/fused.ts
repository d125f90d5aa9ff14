import {
  evaluateBody,
  type FusedParams,
  type GroupResult,
  type ParamsOf,
  resultsOf,
  siblingsUnsupported,
  specAt,
  type TensorSpec,
} from "@centella/core";
import type { F32, S32, U32 } from "../ptx/types.ts";
import { productLaunches, siblingLaunches } from "./matmul.ts";
import { broadcastIndices } from "./shared/binary.ts";
import { elementwise, input, type Kernel, type KernelCall, output, type Scope } from "./shared/kernel.ts";
import type { Finishing } from "./shared/siblingProducts.ts";

type Value = F32 | S32;
type ElementOf = (op: string) => Kernel["element"];

/** Calls after a product: each thread of it has 16 results, and the text repeats for each. */
const maxFinishing = 16;

/**
 * One launch for a group of elementwise calls: a thread computes the whole body for its element in registers. Where the body
 * starts with products, the rest of it is applied to their results before they are stored.
 */
export function fusedKernel(elementOf: ElementOf): Kernel<FusedParams> {
  return {
    unsupported(inputs, params) {
      const { body } = params;
      const results = resultsOf(inputs.length, params);
      for (const { anchors, finishing } of results) {
        const apart = anchors.find((index) => body[index]!.op.name !== "matmul" || results[0]!.anchors.length === 0);
        if (apart !== undefined) return `${body[apart]!.op.name} is no function of single elements here`;
        const calls = finishing?.params.body ?? [];
        const unknown = calls.find(({ op }) => elementOf(op.name) === undefined);
        if (unknown !== undefined) return `${unknown.op.name} is no function of single elements here`;
        if (anchors.length > 0 && calls.length > maxFinishing) return `more than ${maxFinishing} calls after a product`;
        const specs = [...(finishing?.places ?? []).map((place) => specAt(inputs, params, place)), ...calls.map((call) => call.output)];
        const odd = specs.find((spec) => spec !== undefined && spec.dtype !== "f32" && spec.dtype !== "i32");
        if (odd !== undefined) return `${odd.dtype} is not computed with in fused groups`;
      }
      if (isSingle(results)) {
        const [product] = results[0]!.anchors;
        return product !== undefined && body[product]!.inputs.join() !== "0,1"
          ? "a product of other tensors than the group's first two"
          : undefined;
      }
      return siblingsUnsupported(inputs, params, results);
    },
    launches(call, params) {
      const results = resultsOf(call.inputs.length, params);
      if (!isSingle(results)) return siblingLaunches(call, params, results, (result) => finishingOf(call, result, elementOf));
      const [result] = results;
      const { args, apply } = finishingOf(call, result!, elementOf);
      const [product] = result!.anchors;
      if (product !== undefined) {
        const finish = (scope: Scope, index: U32, value: F32): F32 => apply(scope, index, [value]) as F32;
        return productLaunches(call, params.body[product]!.params as ParamsOf<"matmul">, { args, apply: finish });
      }
      const { shape, dtype } = call.output;
      return [
        elementwise(call, "fused", { shape, args: { ...args, y: output } }, (scope, index) => {
          const { k, pointer } = scope;
          const value = apply(scope, index, []);
          if (dtype === "i32") k.store("s32", k.at("s32", pointer("y", "s32"), index), value as S32);
          else k.store("f32", k.at("f32", pointer("y", "f32"), index), value as F32);
        }),
      ];
    },
  };
}

/** Whether a group has one result, of one product or none. */
function isSingle(results: readonly GroupResult[]): boolean {
  return results.length === 1 && results[0]!.anchors.length <= 1;
}

/** What becomes of the anchors' results before one is stored, and the memory that this reads. */
function finishingOf({ inputs }: KernelCall, { anchors, finishing }: GroupResult, elementOf: ElementOf): Finishing {
  if (finishing === undefined) return { args: {}, apply: (_scope, _index, values) => values[0]! };
  const { places, params, output: made } = finishing;
  const read = places.filter((place) => place < inputs.length);
  return {
    args: Object.fromEntries(read.map((place) => [`x${place}`, input(place)])),
    apply(scope, index, values) {
      const specs = read.map((place) => inputs[place]!);
      const shapes = specs.map((spec) => spec.shape);
      const at = broadcastIndices(scope, made.shape, shapes, index);
      const loaded = new Map(read.map((place, i) => [place, load(scope, specs[i]!, `x${place}`, at[i]!)]));
      const known = places.map((place): Value => loaded.get(place) ?? values[anchors.indexOf(place - inputs.length)]!);
      return evaluateBody(known, params.body, ({ op, params: own, output: result }, used) =>
        elementOf(op.name)!(scope.k, used as readonly Value[], own, result.dtype),
      );
    },
  };
}

function load({ k, pointer }: Scope, { dtype }: TensorSpec, name: string, at: U32 | number): Value {
  return dtype === "i32" ? k.load("s32", k.at("s32", pointer(name, "s32"), at)) : k.load("f32", k.at("f32", pointer(name, "f32"), at));
}
