import { evaluateBody, type FusedCall, type FusedParams, type ParamsOf, type TensorSpec } from "@centella/core";
import type { F32, S32, U32 } from "../ptx/types.ts";
import { productLaunches } from "./matmul.ts";
import { broadcastIndices } from "./shared/binary.ts";
import { elementwise, input, type Kernel, type KernelCall, type NamedArguments, output, type Scope } from "./shared/kernel.ts";

type Value = F32 | S32;
type ElementOf = (op: string) => Kernel["element"];

/** Calls after a product: each thread of it has 16 results, and the text repeats for each. */
const maxFinishing = 16;

/**
 * One launch for a group of elementwise calls: a thread computes the whole body for its element in registers. Where the body
 * starts with a product, the rest of it is applied to the product's results before they are stored.
 */
export function fusedKernel(elementOf: ElementOf): Kernel<FusedParams> {
  return {
    unsupported(inputs, { body, others }) {
      if (others !== undefined) return "a kernel has one result";
      const hasProduct = body[0]?.op.name === "matmul";
      const calls = hasProduct ? body.slice(1) : body;
      const apart = calls.find(({ op }) => elementOf(op.name) === undefined);
      if (apart !== undefined) return `${apart.op.name} is no function of single elements here`;
      if (hasProduct && calls.length > maxFinishing) return `more than ${maxFinishing} calls after a product`;
      if (hasProduct && body[0]!.inputs.join() !== "0,1") return "a product of a tensor with itself";
      const specs = [...placesRead(calls, inputs.length).map((place) => inputs[place]), ...body.map((call) => call.output)];
      const odd = specs.find((spec) => spec !== undefined && spec.dtype !== "f32" && spec.dtype !== "i32");
      return odd && `${odd.dtype} is not computed with in fused groups`;
    },
    launches(call, { body }) {
      const { shape, dtype } = call.output;
      const [first, ...rest] = body;
      if (first!.op.name === "matmul") {
        const args = argumentsOf(rest, call);
        const apply = (scope: Scope, index: U32, value: F32): F32 => evaluate(scope, call, elementOf, body, index, value) as F32;
        return productLaunches(call, first!.params as ParamsOf<"matmul">, { args, apply });
      }
      return [
        elementwise(call, "fused", { shape, args: { ...argumentsOf(body, call), y: output } }, (scope, index) => {
          const { k, pointer } = scope;
          const result = evaluate(scope, call, elementOf, body, index);
          if (dtype === "i32") k.store("s32", k.at("s32", pointer("y", "s32"), index), result as S32);
          else k.store("f32", k.at("f32", pointer("y", "f32"), index), result as F32);
        }),
      ];
    },
  };
}

/** The body's result for one element; `product` is the result of its first call where that is known. */
function evaluate(
  scope: Scope,
  { inputs, output: y }: KernelCall,
  elementOf: ElementOf,
  body: readonly FusedCall[],
  index: U32,
  product?: F32,
): Value {
  const places = placesRead(product === undefined ? body : body.slice(1), inputs.length);
  const specs = places.map((place) => inputs[place]!);
  const at = broadcastIndices(
    scope,
    y.shape,
    specs.map((spec) => spec.shape),
    index,
  );
  const values: (Value | undefined)[] = inputs.map(() => undefined);
  places.forEach((place, i) => {
    values[place] = load(scope, specs[i]!, `x${place}`, at[i]!);
  });
  return evaluateBody(values, body, ({ op, params, output: made }, used, i) =>
    i === 0 && product !== undefined ? product : elementOf(op.name)!(scope.k, used as readonly Value[], params, made.dtype),
  );
}

function load({ k, pointer }: Scope, { dtype }: TensorSpec, name: string, at: U32 | number): Value {
  return dtype === "i32" ? k.load("s32", k.at("s32", pointer(name, "s32"), at)) : k.load("f32", k.at("f32", pointer(name, "f32"), at));
}

/** Which of a group's inputs calls read. */
function placesRead(calls: readonly FusedCall[], inputs: number): readonly number[] {
  return [...new Set(calls.flatMap((call) => call.inputs))].filter((place) => place !== undefined && place < inputs) as number[];
}

function argumentsOf(calls: readonly FusedCall[], { inputs }: KernelCall): NamedArguments {
  return Object.fromEntries(placesRead(calls, inputs.length).map((place) => [`x${place}`, input(place)]));
}
