import type { Dim, DimValues, DType } from "@centella/core";
import { elementAt, layoutOf, mapTuple, resolveDim } from "@centella/core/backend";
import {
  asValue,
  type Extent,
  type F32,
  type GpuArgument,
  type GpuArguments,
  type GpuKernel,
  type GpuScope,
  type GpuScratch,
  type GpuStep,
  groupCount,
  mostElements,
  neighbourCount,
  type PerExtent,
  type U32,
} from "@centella/gpu-kernels";
import type { Binding, Dispatch, Field, Kernel, Resource } from "../kernels/shared/kernel.ts";
import { WgslEmitter } from "./emitter.ts";
import { defineDispatch, elementOf } from "./module.ts";

/** Workgroup size where lanes share nothing. */
const lanes = 256;

/** Workgroup size where lanes share a row. */
export const rowLanes = 128;

/** Returns the WebGPU form of a shared kernel. `subgroup` lanes exchange values in registers. */
export function kernelFrom<P extends object>(
  { unsupported, checkRun, steps, epilogue, prologue }: GpuKernel<P>,
  subgroup: number,
): Kernel<P> {
  return {
    ...(epilogue && { epilogue }),
    ...(prologue && { prologue }),
    ...(unsupported && { unsupported }),
    dispatches: (call, params) => steps(call, params).map((step) => dispatchOf(step, subgroup, (dims) => checkRun?.(call, params, dims))),
  };
}

/** Extents from which on they are constants of texts whose lanes share rows: loops over rows of known length are unrolled. */
const longRow = 1024;

/** Extents and parameters of a call: uniforms, so that calls which differ in them share a pipeline. */
export class Uniforms implements GpuScope {
  readonly k: WgslEmitter;
  readonly types: Record<string, Field["type"]> = {};
  readonly #prefix: string;
  readonly #longRow: number;
  readonly #values = new Map<string, number | Dim>();
  readonly #names = new Map<string, string>();

  /** `prefix` keeps the fields apart from others in the same block. Extents from `longRow` on that all runs share are constants. */
  constructor(k: WgslEmitter, prefix = "", longRow: number = Number.POSITIVE_INFINITY) {
    this.k = k;
    this.#prefix = prefix;
    this.#longRow = longRow;
  }

  extent(dim: Dim): Extent {
    if (typeof dim === "number" && dim >= this.#longRow) return dim;
    return dim === 1 ? 1 : (this.#uniform("u32", typeof dim === "number" ? `${dim}` : dim.name, dim) as U32);
  }

  extents<const S extends readonly Dim[]>(shape: S): PerExtent<S> {
    return mapTuple(shape, (dim) => this.extent(dim));
  }

  number(name: string, value: number): F32 {
    return this.#uniform("f32", `number ${name}`, value) as F32;
  }

  whole(value: number): Extent {
    return value === 0 || value === 1 ? value : (this.#uniform("u32", `whole ${value}`, value) as U32);
  }

  values(dims: DimValues): Record<string, number> {
    return Object.fromEntries([...this.#values].map(([name, value]) => [name, resolveDim(value, dims)]));
  }

  /** Read again at every use: a `let` is visible only in its block. */
  #uniform(type: Field["type"], key: string, value: number | Dim): string {
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `${this.#prefix}e${this.#names.size}`;
      this.#names.set(key, name);
      this.types[name] = type;
      this.#values.set(name, value);
    }
    return this.k.define(type as "u32" | "f32", `p.${name}`);
  }
}

/** Returns the dispatch of a step. `subgroup` lanes exchange values in registers; `checkRun` refuses runs by their extents. */
export function dispatchOf(step: GpuStep, subgroup: number, checkRun?: (dims: DimValues) => void): Dispatch {
  const { scope, body, vectors } = textOf(step, subgroup);
  const { k } = scope;
  const perLane = indicesPerLane(step);
  return defineDispatch({
    bindings: bindingsOf(step.args, k, vectors),
    uniforms: { count: "u32", ...scope.types },
    lanes: k.lanes,
    declarations: k.declarations,
    body,
    sizeIn(dims) {
      checkRun?.(dims);
      const total = groupCount(step.shape, (dim) => resolveDim(dim, dims));
      return {
        groups: step.kind === "groups" ? total : Math.ceil(total / perLane / lanes),
        values: { ...scope.values(dims), count: total },
      };
    },
  });
}

/** Indices of a step's shape that a lane computes. */
function indicesPerLane(step: GpuStep): number {
  if (step.kind === "pieces") return piecesPerLane(step);
  if (step.kind !== "map") return 1;
  return storesVectors(step) ? vectorsPerLane * neighbourCount : perWordOf(step);
}

/** The text of a step. It is written again if it reads vectors: their arguments are arrays of these. */
function textOf(step: GpuStep, subgroup: number, vectors: ReadonlySet<string> = new Set()): StepText {
  const k = new WgslEmitter(dtypesOf(step.args), lanesOf(step), { subgroup, vectors });
  const scope = new Uniforms(k, "", step.kind === "groups" ? longRow : Number.POSITIVE_INFINITY);
  const body = bodyOf(step, scope);
  return k.wide.size > vectors.size ? textOf(step, subgroup, k.wide) : { scope, body, vectors };
}

interface StepText {
  readonly scope: Uniforms;
  readonly body: string;
  /** Arguments that are arrays of vectors. */
  readonly vectors: ReadonlySet<string>;
}

function lanesOf(step: GpuStep): number {
  return step.kind === "groups" ? (step.lanes ?? rowLanes) : lanes;
}

function bodyOf(step: GpuStep, scope: Uniforms): string {
  const { k } = scope;
  if (step.kind === "groups") {
    step.body(scope, k.define("u32", "group"));
    return k.lines.join("\n");
  }
  if (step.kind === "map" && storesVectors(step)) return vectorText(step, scope);
  if (step.kind === "pieces" && piecesPerLane(step) > 1) return piecesText(step, scope);
  const start = `let i = group * ${lanes}u + lane;`;
  const index = k.define("u32", "i");
  if (step.kind === "each") {
    step.body(scope, index);
    return [start, "if (i >= p.count) { return; }", ...k.lines].join("\n");
  }
  if (step.kind === "pieces") {
    const { at, words } = step.body(scope, index);
    k.storePiece(step.to, asValue(k, at), words);
    return [start, "if (i >= p.count) { return; }", ...k.lines].join("\n");
  }
  const perWord = perWordOf(step);
  const value = step.body(scope, index);
  if (perWord === 1) {
    k.store(step.to, index, value);
    return [start, "if (i >= p.count) { return; }", ...k.lines].join("\n");
  }
  // A lane writes a whole word: elements of less than 32 bits cannot be stored one by one.
  k.written.add(step.to);
  const text = [
    start,
    `if (i * ${perWord}u >= p.count) { return; }`,
    "let word = i;",
    "var packed = 0u;",
    `for (var part = 0u; part < ${perWord}u; part++) {`,
    `let i = word * ${perWord}u + part;`,
    "if (i >= p.count) { break; }",
    ...k.lines,
    `packed |= (bitcast<u32>(${value}) & ${2 ** (32 / perWord) - 1}u) << (part * ${32 / perWord}u);`,
    "}",
    `${step.to}[word] = packed;`,
  ];
  return text.join("\n");
}

type MapStep = Extract<GpuStep, { readonly kind: "map" }>;

/** Elements from which on each lane of an elementwise step, or of one that moves pieces, has several vectors. */
const manyElements = 2 ** 16;
const vectorsPerLane = 4;

/** Elements of a step's result that share a word: a lane stores all of them. */
function perWordOf({ args, to }: MapStep): number {
  return 4 / layoutOf(args[to]!.dtype).bytes;
}

/** Whether the lanes of a step store vectors. */
function storesVectors(step: MapStep): boolean {
  return perWordOf(step) === 1 && step.isElementwise === true && mostElements(step.shape) >= manyElements;
}

/**
 * A step whose lanes compute several vectors, so that their loads overlap. Memory is padded to whole vectors. Lanes after the last vector compute
 * that again.
 */
function vectorText({ to, body }: MapStep, scope: Uniforms): string {
  const { k } = scope;
  const last = k.define("u32", `(p.count - 1u) / ${neighbourCount}u`);
  const firsts = laneIndices(k, vectorsPerLane, last).map((index) => k.mul(index, neighbourCount));
  k.neighbours(firsts, (indices) => {
    const values = indices.map((at) => body(scope, at));
    values.forEach((value, i) => void k.store(to, elementAt(indices, i), value));
  });
  return k.lines.join("\n");
}

type PiecesStep = Extract<GpuStep, { readonly kind: "pieces" }>;

function piecesPerLane({ shape }: PiecesStep): number {
  return mostElements(shape) * neighbourCount >= manyElements ? vectorsPerLane : 1;
}

/** A step whose lanes move several pieces: all are loaded before the first one is stored. Lanes after the last piece move that again. */
function piecesText({ to, body }: PiecesStep, scope: Uniforms): string {
  const { k } = scope;
  const pieces = laneIndices(k, vectorsPerLane, k.define("u32", "p.count - 1u")).map((index) => body(scope, index));
  for (const { at, words } of pieces) k.storePiece(to, asValue(k, at), words);
  return k.lines.join("\n");
}

/** The `count` indices up to `last` of a lane: neighbouring lanes have neighbouring ones. */
function laneIndices(k: WgslEmitter, count: number, last: U32): readonly U32[] {
  return Array.from({ length: count }, (_, i) => k.min(k.define("u32", `group * ${count * lanes}u + lane + ${i * lanes}u`), last));
}

/** Dtypes of arguments, by name. */
export function dtypesOf(args: GpuArguments): Readonly<Record<string, DType>> {
  return Object.fromEntries(Object.entries(args).map(([name, { dtype }]) => [name, dtype]));
}

/** Returns the bindings of a text's arguments. Those in `vectors` are arrays of vectors. */
export function bindingsOf(
  args: GpuArguments,
  { written, halved }: WgslEmitter,
  vectors: ReadonlySet<string> = new Set(),
): readonly Binding[] {
  return Object.entries(args).map(([name, argument]) => ({
    name,
    resource: resourceOf(argument),
    access: written.has(name) ? "read_write" : "read",
    element: halved.has(name) ? "atomic<u32>" : vectors.has(name) ? vectorOf[elementOf(argument.dtype)] : elementOf(argument.dtype),
  }));
}

const vectorOf = { f32: "vec4f", i32: "vec4i", u32: "vec4u" } as const;

function resourceOf(argument: GpuArgument): Resource {
  switch (argument.kind) {
    case "output":
      return { kind: "output" };
    case "scratch":
      return { kind: "scratch", bytes: 4 * mostElements(argument.elements), slot: slotOf(argument) };
    case "table":
      return { kind: "table", words: argument.words };
    default:
      return { kind: argument.kind, index: argument.index };
  }
}

/** Number of scratch tensors before this one. */
function slotOf({ after }: GpuScratch): number {
  return after === undefined ? 0 : 1 + slotOf(after);
}
