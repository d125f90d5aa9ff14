import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementCount, type FusedParams, type GroupResult, isQuantized } from "@centella/core/backend";
import type { Epilogue } from "@centella/gpu-kernels";
import { activationType } from "@centella/quant";
import { loader } from "../../wgsl/emitter.ts";
import { epilogueText, storeText } from "../../wgsl/epilogue.ts";
import { defineKernel, elementOf, input, workgroupReduce } from "../../wgsl/module.ts";
import { products, vectorLanes, vectorRows } from "../matmul.ts";
import type { Binding, Field, Kernel, Resource } from "./kernel.ts";
import { roundActivations } from "./roundActivations.ts";
import { count, maximum } from "./shape.ts";

/** A result of products, with what is computed after them. */
type SiblingResult = GroupResult & { readonly epilogue: Epilogue };

/** Storage buffers of the kernel for few rows, the one with the most. */
export function siblingBindings(inputs: readonly TensorSpec[], { body }: FusedParams, results: readonly SiblingResult[]): number {
  const calls = results.flatMap(({ anchors }) => anchors.map((index) => body[index]!));
  const lefts = new Set(calls.map(({ inputs: places, params }) => roundingOf(inputs[places[1]!]!, params as ParamsOf<"matmul">)));
  const read = results.flatMap(({ epilogue }) => Object.keys(epilogue.args));
  return lefts.size + calls.length + results.length + read.length;
}

/** The blocks that the tensor is rounded to before it is multiplied with a weight. */
function roundingOf({ dtype }: TensorSpec, { activations }: ParamsOf<"matmul">): string | undefined {
  return activations !== "ggml" || !isQuantized(dtype) ? undefined : activationType[dtype];
}

/**
 * Products of the first input, each of which goes into one result. For few rows all are one dispatch, a workgroup for each element of
 * each result; for more each is the dispatch of a product.
 */
export function siblingKernels(inputs: readonly TensorSpec[], { body }: FusedParams, results: readonly SiblingResult[]): readonly Kernel[] {
  const a = inputs[0]!;
  const lead = a.shape.slice(0, -1);
  const bytesOf = (spec: TensorSpec): number => 4 * elementCount(spec.shape.map(maximum));
  let slots = 0;
  const kernels: Kernel[] = [];
  const lefts = new Map<string | undefined, Binding>();
  const leftOf = (weight: TensorSpec, params: ParamsOf<"matmul">): Binding => {
    const rounding = roundingOf(weight, params);
    const known = lefts.get(rounding);
    if (known !== undefined) return known;
    const name = `a${lefts.size}`;
    const resource: Resource = rounding === undefined ? { kind: "input", index: 0 } : { kind: "scratch", bytes: bytesOf(a), slot: slots++ };
    const left: Binding = { name, resource, access: "read", element: "f32" };
    lefts.set(rounding, left);
    if (rounding !== undefined && isQuantized(weight.dtype))
      kernels.push(roundActivations(a, false, activationType[weight.dtype], { ...left, access: "read_write" }));
    return left;
  };
  const siblings = results.map((result, r) => {
    const multiplied = result.anchors.map((index, j) => {
      const { inputs: places, params, output } = body[index]!;
      const weight = inputs[places[1]!]!;
      const b = input(`b${r}_${j}`, places[1]!, elementOf(weight.dtype));
      return { left: leftOf(weight, params as ParamsOf<"matmul">), b, weight, params: params as ParamsOf<"matmul">, output };
    });
    const resource: Resource = r < results.length - 1 ? { kind: "extraOutput", index: r } : { kind: "output" };
    const y: Binding = { name: `y${r}`, resource, access: "read_write", element: "f32" };
    return { result, multiplied, y };
  });

  if (lead.some((dim) => typeof dim !== "number") || elementCount(lead.map(maximum)) <= vectorRows) {
    const texts = siblings.map(({ result, multiplied }, r) =>
      epilogueText(result.epilogue, { name: `epilogue${r}`, parameters: multiplied.map((_, j) => `t${j}`) }),
    );
    const own = siblings.flatMap(({ multiplied, y }) => [...multiplied.map(({ b }) => b), y]);
    const sizes: Record<string, Field["type"]> = Object.fromEntries(
      ["m", "k", ...siblings.map((_, r) => `n${r}`)].map((name) => [name, "u32"]),
    );
    const columns = siblings.map(({ multiplied }) => maximum(multiplied[0]!.output.shape.at(-1)!));
    kernels.push(
      defineKernel({
        bindings: [...lefts.values(), ...own, ...texts.flatMap(({ bindings }) => bindings)],
        uniforms: Object.assign(sizes, ...texts.map(({ uniforms }) => uniforms)) as Record<string, Field["type"]>,
        lanes: vectorLanes,
        declarations: [
          ...siblings.flatMap(({ multiplied }) => multiplied.flatMap(({ b, weight }) => loader(b.name, weight.dtype))),
          workgroupReduce("total", "f32", vectorLanes, "a + b"),
          ...texts.flatMap(({ declarations }) => declarations),
        ],
        body: [
          ...siblings.slice(0, -1).map((_, r) => `let end${r} = ${r === 0 ? "" : `end${r - 1} + `}p.m * p.n${r};`),
          siblings
            .map(({ multiplied, y }, r) => {
              const isLast = r === siblings.length - 1;
              return `${isLast ? "" : `if (group < end${r}) `}{
        let i = group${r === 0 ? "" : ` - end${r - 1}`};
        let row = i / p.n${r} * p.k;
        let column = i % p.n${r} * p.k;
        ${multiplied.map((_, j) => `var s${j} = 0.0;`).join(" ")}
        for (var k = lane; k < p.k; k += ${vectorLanes}u) {
          ${multiplied.map(({ left, b }, j) => `s${j} = fma(${left.name}[row + k], load_${b.name}(column + k), s${j});`).join("\n          ")}
        }
        ${multiplied.map((_, j) => `let t${j} = total(lane, s${j});`).join(" ")}
        if (lane == 0u) { ${y.name}[i] = epilogue${r}(i, ${multiplied.map((__, j) => `t${j}`).join(", ")}); }
      }`;
            })
            .join(" else "),
        ].join("\n"),
        dispatch(dims: DimValues) {
          const m = count(lead, dims);
          const values = Object.fromEntries(columns.map((n, r) => [`n${r}`, n]));
          const all = columns.reduce((sum, n) => sum + n, 0);
          return {
            groups: m <= vectorRows ? m * all : 0,
            values: Object.assign({ m, k: maximum(a.shape.at(-1)!), ...values }, ...texts.map((text) => text.values(dims))),
          };
        },
      }),
    );
  }

  if (elementCount(lead.map(maximum)) > vectorRows) {
    for (const { result, multiplied, y } of siblings) {
      // All but the last product wait for the epilogue of the last one.
      const waiting = multiplied.slice(0, -1).map(({ output }, j): Binding => {
        return { name: `w${j}`, resource: { kind: "scratch", bytes: bytesOf(output), slot: slots++ }, access: "read", element: "f32" };
      });
      const last = storeText(result.epilogue, [...waiting.map(({ name }) => `${name}[i]`), "result"]);
      const store = { ...last, bindings: [...waiting, ...last.bindings] };
      for (const [j, { left, b, weight, params, output }] of multiplied.entries()) {
        const isLast = j === waiting.length;
        const call = { inputs: [a, weight], params, output };
        const target = isLast ? y.resource : waiting[j]!.resource;
        for (const kernel of products(call, { ...left, name: "a" }, isLast ? store : storeText(undefined), false)) {
          const bindings = kernel.bindings.map((binding): Binding => {
            if (binding.resource.kind === "output") return { ...binding, resource: target };
            return binding.name === "b" ? { ...binding, resource: b.resource } : binding;
          });
          kernels.push({ ...kernel, bindings });
        }
      }
    }
  }
  return kernels;
}
