import type { DimValues, TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import type { SiblingProduct, SiblingResult, Siblings } from "@centella/gpu-kernels";
import { loader } from "../../wgsl/emitter.ts";
import { type EpilogueText, epilogueText, storeText } from "../../wgsl/epilogue.ts";
import { defineDispatch, elementOf, input, rebind, workgroupReduce } from "../../wgsl/module.ts";
import { products, roundingDispatch, vectorLanes, vectorRows } from "../matmul.ts";
import type { Binding, Dispatch, Field, Resource } from "./kernel.ts";
import { count, maximum } from "./shape.ts";

/** Returns the number of storage buffers of the dispatch for few rows, which binds the most. */
export function siblingBindings({ lefts, results }: Siblings): number {
  const own = results.map(({ products: multiplied, epilogue }) => multiplied.length + 1 + Object.keys(epilogue.args).length);
  return own.reduce((a, b) => a + b, lefts.length);
}

/**
 * Products of the first input, each of which goes into one result. For few rows all are one dispatch, a workgroup for each element of
 * each result; for more rows each is the dispatch of a product.
 */
export function siblingDispatches(siblings: Siblings): readonly Dispatch[] {
  const { a } = siblings;
  const scratch = new ScratchSlots();
  const lefts = siblings.lefts.map((type, i): Binding => {
    const resource: Resource = type === undefined ? { kind: "input", index: 0 } : scratch.take(a);
    return { name: `a${i}`, resource, access: "read", element: "f32" };
  });
  const roundings = siblings.lefts.flatMap((type, i) => {
    const left = lefts[i];
    return type === undefined || left === undefined ? [] : [rebind(roundingDispatch(a, type, false), { y: left.resource })];
  });
  const lead = a.shape.slice(0, -1);
  const mostRows = elementCount(lead.map(maximum));
  const isFewAtTimes = mostRows <= vectorRows || lead.some((dim) => typeof dim !== "number");
  return [
    ...roundings,
    ...(isFewAtTimes ? [fewRows(siblings, lefts)] : []),
    ...(mostRows > vectorRows ? siblings.results.flatMap((result) => manyRows(a, result, lefts, scratch)) : []),
  ];
}

/** Scratch memory of an op call, a buffer for each slot. */
class ScratchSlots {
  #slots = 0;

  /** A slot for a tensor of f32. */
  take({ shape }: TensorSpec): Resource {
    return { kind: "scratch", bytes: 4 * elementCount(shape.map(maximum)), slot: this.#slots++ };
  }
}

/** A product with the name of its weight's binding and the binding of its other operand. */
interface NamedProduct extends SiblingProduct {
  readonly b: Binding;
  readonly a: Binding;
}

/** A result in the dispatch for few rows. */
interface NamedResult {
  readonly products: readonly NamedProduct[];
  readonly y: Binding;
  readonly epilogue: EpilogueText;
  readonly columns: number;
}

function namedResult({ products: multiplied, epilogue, y, shape }: SiblingResult, r: number, lefts: readonly Binding[]): NamedResult {
  const named = multiplied.flatMap((product, j): NamedProduct[] => {
    const a = lefts[product.left];
    return a === undefined ? [] : [{ ...product, a, b: input(`b${r}_${j}`, product.input, elementOf(product.weight.dtype)) }];
  });
  return {
    products: named,
    y: { name: `y${r}`, resource: y, access: "read_write", element: "f32" },
    epilogue: epilogueText(epilogue, { name: `epilogue${r}`, parameters: named.map((_, j) => `t${j}`) }),
    columns: maximum(shape.at(-1) ?? 0),
  };
}

/** All results in one dispatch, a workgroup for each element; skipped for runs with more than {@link vectorRows} rows. */
function fewRows({ a, results }: Siblings, lefts: readonly Binding[]): Dispatch {
  const named = results.map((result, r) => namedResult(result, r, lefts));
  const sizes = ["m", "k", ...named.map((_, r) => `n${r}`)].map((name) => [name, "u32"] as const);
  const lead = a.shape.slice(0, -1);
  const columns = named.map((result, r) => [`n${r}`, result.columns] as const);
  const all = columns.reduce((sum, [, n]) => sum + n, 0);
  const uniforms: Record<string, Field["type"]> = Object.assign(
    Object.fromEntries(sizes),
    ...named.map(({ epilogue }) => epilogue.uniforms),
  );
  return defineDispatch({
    bindings: [
      ...lefts,
      ...named.flatMap(({ products: multiplied, y }) => [...multiplied.map(({ b }) => b), y]),
      ...named.flatMap(({ epilogue }) => epilogue.bindings),
    ],
    uniforms,
    lanes: vectorLanes,
    declarations: [
      ...named.flatMap(({ products: multiplied }) => multiplied.flatMap(({ b, weight }) => loader(b.name, weight.dtype))),
      workgroupReduce("total", "f32", vectorLanes, "a + b"),
      ...named.flatMap(({ epilogue }) => epilogue.declarations),
    ],
    body: [
      ...named.slice(0, -1).map((_, r) => `let end${r} = ${r === 0 ? "" : `end${r - 1} + `}p.m * p.n${r};`),
      named.map((result, r) => elementText(result, r, r === named.length - 1)).join(" else "),
    ].join("\n"),
    sizeIn(dims: DimValues) {
      const m = count(lead, dims);
      return {
        groups: m <= vectorRows ? m * all : 0,
        values: Object.assign(
          { m, k: maximum(a.shape.at(-1) ?? 0), ...Object.fromEntries(columns) },
          ...named.map(({ epilogue }) => epilogue.values(dims)),
        ),
      };
    },
  });
}

/** Computes an element of result `r`: sums over k for each of its products, then the epilogue. */
function elementText({ products: multiplied, y }: NamedResult, r: number, isLast: boolean): string {
  const eachProduct = (text: (j: number, product: NamedProduct) => string): readonly string[] =>
    multiplied.map((product, j) => text(j, product));
  return `${isLast ? "" : `if (group < end${r}) `}{
        let i = group${r === 0 ? "" : ` - end${r - 1}`};
        let row = i / p.n${r} * p.k;
        let column = i % p.n${r} * p.k;
        ${eachProduct((j) => `var s${j} = 0.0;`).join(" ")}
        for (var k = lane; k < p.k; k += ${vectorLanes}u) {
          ${eachProduct((j, { a, b }) => `s${j} = fma(${a.name}[row + k], load_${b.name}(column + k), s${j});`).join("\n          ")}
        }
        ${eachProduct((j) => `let t${j} = total(lane, s${j});`).join(" ")}
        if (lane == 0u) { ${y.name}[i] = epilogue${r}(i, ${eachProduct((j) => `t${j}`).join(", ")}); }
      }`;
}

/** A dispatch for each product of a result. All but the last product wait in scratch memory for the epilogue of the last one. */
function manyRows(
  a: TensorSpec,
  { products: multiplied, epilogue, y }: SiblingResult,
  lefts: readonly Binding[],
  scratch: ScratchSlots,
): readonly Dispatch[] {
  const waiting = multiplied.slice(0, -1).map(({ output }, j): Binding => {
    return { name: `w${j}`, resource: scratch.take(output), access: "read", element: "f32" };
  });
  const last = storeText(epilogue, [...waiting.map(({ name }) => `${name}[i]`), "result"]);
  const store = { ...last, bindings: [...waiting, ...last.bindings] };
  return multiplied.flatMap(({ left, input: index, weight, params, output }, j) => {
    const a0 = lefts[left];
    if (a0 === undefined) return [];
    const target = waiting[j];
    const text = target === undefined ? store : storeText(undefined);
    const call = { inputs: [a, weight], output };
    const resources = { y: target?.resource ?? y, b: { kind: "input", index } } as const;
    return products(call, params, { ...a0, name: "a" }, text, false).map((dispatch) => rebind(dispatch, resources));
  });
}
