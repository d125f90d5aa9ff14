import { type Dim, type DimValues, layoutOf, resolveDim } from "@centella/core";
import {
  type Extent,
  type F32,
  type GpuArgument,
  type GpuElement,
  type GpuKernel,
  type GpuScope,
  type GpuStep,
  mostElements,
  type U32,
} from "@centella/gpu-kernels";
import type { Binding, ElementForm, Field, Kernel, KernelDefinition, Resource } from "../kernel.ts";
import { count } from "../kernels/shared/shape.ts";
import { defineKernel, elementOf } from "../wgsl.ts";
import { WgslEmitter } from "./emitter.ts";

const lanes = 256;

/** A kernel that is spelled once for all GPUs, as one of this backend's. */
export function definitionOf<P extends object>({ unsupported, steps, element }: GpuKernel<P>): KernelDefinition<P> {
  return {
    ...(element === undefined ? {} : { element: formOf(element) }),
    unsupported: ({ inputs, params, output }) => unsupported?.({ inputs, output }, params),
    build: ({ inputs, params, output }) => steps({ inputs, output }, params).map(kernelOf),
  };
}

function formOf({ arity, of }: GpuElement): ElementForm {
  const k = new WgslEmitter();
  const names = ["fa", "fb", "fc"].slice(0, arity) as F32[];
  const parameters = new Set<string>();
  const result = of(k, names, (name) => {
    parameters.add(name);
    return k.define("f32", `p.${name}`);
  });
  return {
    arguments: names,
    body: [...k.lines, `return ${result};`].join("\n"),
    declarations: k.declarations,
    parameters: [...parameters],
  };
}

/** Extents and parameters of a call: uniforms, so that calls which differ in them share a pipeline. */
class Uniforms implements GpuScope {
  readonly k: WgslEmitter;
  readonly types: Record<string, Field["type"]> = {};
  readonly #values = new Map<string, number | Dim>();
  readonly #names = new Map<string, string>();

  constructor(k: WgslEmitter) {
    this.k = k;
  }

  extent(dim: Dim): Extent {
    return dim === 1 ? 1 : (this.#uniform("u32", typeof dim === "number" ? `${dim}` : dim.name, dim) as U32);
  }

  extents(shape: readonly Dim[]): readonly Extent[] {
    return shape.map((dim) => this.extent(dim));
  }

  number(value: number): F32 {
    return this.#uniform("f32", `number ${value}`, value) as F32;
  }

  whole(value: number): Extent {
    return value === 0 || value === 1 ? value : (this.#uniform("u32", `whole ${value}`, value) as U32);
  }

  values(dims: DimValues): Record<string, number> {
    return Object.fromEntries([...this.#values].map(([name, value]) => [name, resolveDim(value, dims)]));
  }

  /** Read anew at every use, since a `let` is known in its block alone. */
  #uniform(type: Field["type"], key: string, value: number | Dim): string {
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `e${this.#names.size}`;
      this.#names.set(key, name);
      this.types[name] = type;
      this.#values.set(name, value);
    }
    return this.k.define(type as "u32" | "f32", `p.${name}`);
  }
}

function kernelOf(step: GpuStep): Kernel {
  const k = new WgslEmitter(Object.fromEntries(Object.entries(step.args).map(([name, { dtype }]) => [name, dtype])));
  const scope = new Uniforms(k);
  const [text, lanesOf, elementsPerLane] = bodyOf(step, scope);
  return defineKernel({
    bindings: Object.entries(step.args).map(([name, argument]) => bindingOf(name, argument, k.written.has(name))),
    uniforms: { count: "u32", ...scope.types },
    lanes: lanesOf,
    declarations: k.declarations.join("\n"),
    body: text,
    dispatch(dims) {
      const total = count(step.shape, dims);
      return {
        groups: step.kind === "groups" ? total : Math.ceil(total / elementsPerLane / lanes),
        values: { ...scope.values(dims), count: total },
      };
    },
  });
}

/** A step's text, the lanes of its groups, and how many elements each of them writes. */
function bodyOf(step: GpuStep, scope: Uniforms): readonly [text: string, lanes: number, elementsPerLane: number] {
  const { k } = scope;
  if (step.kind === "groups") {
    step.body(scope, k.define("u32", "group"));
    return [k.lines.join("\n"), step.lanes, 1];
  }
  const start = `let i = group * ${lanes}u + lane;`;
  if (step.kind === "each") {
    step.body(scope, k.define("u32", "i"));
    return [[start, "if (i >= p.count) { return; }", ...k.lines].join("\n"), lanes, 1];
  }
  const perWord = 4 / layoutOf(step.args[step.to]!.dtype).bytes;
  k.written.add(step.to);
  if (perWord === 1) {
    const bits = step.body(scope, k.define("u32", "i"));
    const type = elementOf(step.args[step.to]!.dtype);
    const value = type === "u32" ? bits : `bitcast<${type}>(${bits})`;
    return [[start, "if (i >= p.count) { return; }", ...k.lines, `${step.to}[i] = ${value};`].join("\n"), lanes, 1];
  }
  // A lane writes a whole word: elements of less than 32 bits cannot be stored one by one.
  const bits = step.body(scope, k.define("u32", "i"));
  const text = [
    start,
    `if (i * ${perWord}u >= p.count) { return; }`,
    "let word = i;",
    "var packed = 0u;",
    `for (var part = 0u; part < ${perWord}u; part++) {`,
    `let i = word * ${perWord}u + part;`,
    "if (i >= p.count) { break; }",
    ...k.lines,
    `packed |= (${bits} & ${2 ** (32 / perWord) - 1}u) << (part * ${32 / perWord}u);`,
    "}",
    `${step.to}[word] = packed;`,
  ];
  return [text.join("\n"), lanes, perWord];
}

function bindingOf(name: string, argument: GpuArgument, isWritten: boolean): Binding {
  return { name, resource: resourceOf(argument), access: isWritten ? "read_write" : "read", element: elementOf(argument.dtype) };
}

function resourceOf(argument: GpuArgument): Resource {
  switch (argument.kind) {
    case "input":
      return { kind: "input", index: argument.index };
    case "output":
      return { kind: "output" };
    case "scratch":
      return { kind: "scratch", bytes: 4 * mostElements(argument.elements) };
  }
}
