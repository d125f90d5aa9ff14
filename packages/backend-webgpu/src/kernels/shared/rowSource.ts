import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  type F32,
  factorOf,
  type GpuArgument,
  groupSum,
  normedElement,
  type SiblingProduct,
  type Siblings,
  type StagedRows,
  stagedNormArgs,
  stageNorm,
  type U32,
  unitWeights,
  visitLanes,
} from "@centella/gpu-kernels";
import type { ActivationType } from "@centella/quant";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { fourDeclarations, fourType } from "../../wgsl/fours.ts";
import { bindingsOf, dtypesOf, rowLanes, Uniforms } from "../../wgsl/gpuKernel.ts";
import type { Binding } from "./kernel.ts";
import type { Left } from "./products.ts";
import { elementsAtOnce, isUnitRounding, quadsPerUnit, roundPart, storedValues } from "./roundedUnits.ts";
import type { RowParts, RowStage } from "./rowProducts.ts";
import { maximum, range } from "./shape.ts";

/** Where products of few rows read these. */
export interface RowSource extends Pick<RowParts, "bindings" | "uniforms" | "declarations"> {
  readonly stage?: RowStage;
  /** The same with a stage of so many lanes, if it can have other ones. */
  stagedBy?(lanes: number): RowSource;
  /** Bytes of a workgroup's memory that preparing the row takes. */
  readonly bytes: number;
  /** Name of the memory that a product reads, and whether it has units. */
  leftOf(product: SiblingProduct): { readonly a: string; readonly isPacked: boolean };
  values(dims: DimValues): Record<string, number>;
}

/** Rows in memory. `leftOf` gives those that a product reads. */
export function storedRows(lefts: readonly Left[], leftOf: (product: SiblingProduct) => Left): RowSource {
  return {
    bytes: 0,
    bindings: lefts.map(({ binding, isPacked }) => ({ ...binding, element: isPacked ? "vec4u" : "vec4f" })),
    uniforms: {},
    declarations: [],
    leftOf: (product) => {
      const { binding, isPacked } = leftOf(product);
      return { a: binding.name, isPacked };
    },
    values: () => ({}),
  };
}

/** A norm, and the inputs of the group that its arguments count. */
export interface NormedInputs {
  readonly call: AnchoredCall;
  readonly inputs: readonly (TensorSpec | undefined)[];
}

/** Parts of a row that a lane of {@link unitRow} has at once, at most. */
const mostParts = 8;

/** Bytes of a workgroup's memory for {@link unitRow}: the units and what lanes exchange. Infinity for rows that are too long for its lanes. */
export function unitRowBytes(a: TensorSpec, lanes: number): number {
  return partsOf(a, lanes).length > mostParts ? Number.POSITIVE_INFINITY : 16 * quadsPerUnit * stagedUnits(a) + 16 * lanes;
}

function partsOf(a: TensorSpec, lanes: number): readonly number[] {
  return range(Math.ceil(depthOf(a) / elementsAtOnce / lanes));
}

interface UnitRow {
  readonly a: TensorSpec;
  readonly type: ActivationType;
  /** The row, or the norm that computes it. */
  readonly source: Binding | NormedInputs;
  readonly lanes: number;
  readonly subgroup: number;
}

/**
 * One row that each workgroup rounds to units in its own memory, and norms before if the source is a norm. The first workgroup stores the
 * norm's extra output.
 */
export function unitRow(row: UnitRow): RowSource {
  const { a, type, source, lanes, subgroup } = row;
  const norm = "call" in source ? source : undefined;
  const args = norm === undefined ? {} : stagedNormArgs(norm.call);
  const vectors = new Set(Object.keys(args).filter((name) => norm !== undefined && isWholeRow(a, norm, args[name])));
  const k = new WgslEmitter(dtypesOf(args), lanes, { subgroup, vectors });
  const scope = new Uniforms(k, "norm_");
  const parts = partsOf(a, lanes).map((part): LanePart => {
    const own = k.define("u32", `(${part * lanes}u + lane) * ${elementsAtOnce}u`);
    // Lanes beyond the last element round it again and store nothing.
    return { own, first: k.min(own, k.define("u32", `p.k - ${elementsAtOnce}u`)) };
  });
  const elements =
    "call" in source ? normedParts(scope, source.call, [...vectors], parts) : parts.map(({ first }) => storedValues(k, source.name)(first));
  const quadOf = (unit: string, quad: string): string => `units[${quad} * ${stagedUnits(a)}u + placeOf(${unit})]`;
  for (const [i, { own, first }] of parts.entries()) {
    const store = (unit: string, quad: string, value: string): string => `${quadOf(unit, quad)} = ${value};`;
    roundPart(k, { type, first, isStored: `${own} < p.k`, elements: elementAt(elements, i), store });
  }
  k.sync();
  const bytes = unitRowBytes(a, lanes);
  return {
    bytes,
    bindings: "call" in source ? bindingsOf(args, k, vectors) : [{ ...source, element: "vec4f" }],
    uniforms: scope.types,
    declarations: [`var<workgroup> units: array<vec4u, ${quadsPerUnit * stagedUnits(a)}>;`, unitPlace, ...k.declarations],
    stagedBy: (others) => unitRow({ ...row, lanes: others }),
    stage: { lines: k.lines, lanes, bytes, quadAt: noQuads, unitQuadAt: (unit, quad) => quadOf(unit, `${quad}u`) },
    leftOf: () => ({ a: "units", isPacked: true }),
    values: (dims) => scope.values(dims),
  };
}

/** Places of a plane of units: {@link unitPlace} stays among four. */
function stagedUnits(a: TensorSpec): number {
  return 4 * Math.ceil(depthOf(a) / unitWeights / 4);
}

/**
 * Where a unit is among those of its plane. Lanes read every other unit, or two of four: eight neighbouring lanes then read different banks
 * of memory.
 */
const unitPlace = "fn placeOf(unit: u32) -> u32 { return unit ^ (((unit >> 3u) & 1u) * 3u); }";

const noQuads = (): string => {
  throw new TypeError("expected products of units, got one of elements; this is a bug");
};

/** Whether an argument has an f32 for each element of the row. */
function isWholeRow(a: TensorSpec, { inputs }: NormedInputs, argument: GpuArgument | undefined): boolean {
  if (argument?.kind !== "input" || argument.dtype !== "f32") return false;
  return inputs[argument.index]?.shape.at(-1) === a.shape.at(-1);
}

/** A lane's place in a row: its own, and that of the elements that it reads. */
interface LanePart {
  readonly own: U32;
  readonly first: U32;
}

/** The lane's elements of a normed row, part by part. `names` are the arguments with an element for each of the row. */
function normedParts(
  scope: Uniforms,
  norm: AnchoredCall,
  names: readonly string[],
  parts: readonly LanePart[],
): readonly (readonly F32[])[] {
  const { k } = scope;
  const { eps } = norm.params as ParamsOf<"rmsNorm">;
  const { prologue } = norm;
  const loaded = parts.map(({ own, first }) => {
    const indices = k.loadAhead(names, first);
    return { own, indices, values: indices.map((i) => (prologue === undefined ? k.load("x", i) : prologue.apply(scope, i))) };
  });
  const squares = loaded.map(({ own, values }) => {
    const sum = values.reduce<F32>((all, value) => k.fma(value, value, all), k.constant("f32", 0));
    return k.select(k.compare("lt", own, scope.extent(depthOf(norm.output))), sum, 0);
  });
  if (prologue !== undefined && "kept" in prologue.args) {
    for (const { own, indices, values } of loaded) {
      const isKept = k.both(k.compare("eq", k.define("u32", "group"), 0), k.compare("lt", own, k.define("u32", "p.k")));
      k.if(isKept, () => indices.forEach((index, i) => void k.store("kept", index, elementAt(values, i))));
    }
  }
  const all = groupSum(k)(squares.reduce((a, b) => k.add(a, b)));
  const factor = factorOf(scope, all, { count: scope.extent(depthOf(norm.output)), eps });
  return loaded.map(({ indices, values }) => values.map((value, i) => normedElement(k, value, factor, k.load("w", elementAt(indices, i)))));
}

/** Quads of {@link normedRow} between two that are left out: lanes that read neighbouring blocks of 32 elements then read different banks. */
const quadsPerGap = 8;

/** One row that each workgroup norms in its own memory, and rounds there. The first workgroup stores the norm's extra output. */
export function normedRow({ a, lefts: [rounding] }: Siblings, norm: AnchoredCall, subgroup: number): RowSource {
  const args = stagedNormArgs(norm);
  const { lanes = rowLanes } = visitLanes(a.shape.slice(-1));
  const k = new WgslEmitter(dtypesOf(args), lanes, { subgroup });
  const scope = new Uniforms(k, "norm_");
  const quad = (index: string): string => `staged[quadOf(${index})]`;
  const element = (index: string): string => `${quad(`${index} >> 2u`)}[${index} & 3u]`;
  // Rounding to blocks stores single elements.
  const isWhole = !isUnitRounding(rounding);
  const four = isWhole ? "vec4f" : fourType;
  const staged: StagedRows = {
    get: (index) => k.define("f32", element(index)),
    set: (index, value) => void k.lines.push(`${element(index)} = ${value};`),
    width: 4,
    store: (index, values) => void k.lines.push(`${quad(`${index} >> 2u`)} = ${four}(${values.join(", ")});`),
  };
  const isKeeper = k.compare("eq", k.define("u32", "group"), 0);
  stageNorm(scope, norm, { rows: 1, most: 1, rounding, staged, isKeeper });
  // The row, what lanes add up, and the largest elements of blocks.
  const bytes = 16 * quadsOf(a) + 4 * (2 + lanes + (rounding === undefined ? 0 : depthOf(a) / 16));
  return {
    bytes,
    bindings: bindingsOf(args, k),
    uniforms: scope.types,
    declarations: [
      `var<workgroup> staged: array<${four}, ${quadsOf(a)}>;`,
      ...(isWhole ? [] : fourDeclarations),
      quadPlace,
      ...k.declarations,
    ],
    stage: { lines: k.lines, lanes, bytes, quadAt: (index) => (isWhole ? quad(index) : `vectorOf(${quad(index)})`), unitQuadAt: noQuads },
    leftOf: () => ({ a: "staged", isPacked: false }),
    values: (dims) => scope.values(dims),
  };
}

/** One row of floats that each workgroup copies to its own memory, where lanes that read units read different banks. */
export function copiedRow(a: TensorSpec, source: Binding, lanes: number): RowSource {
  const bytes = 16 * quadsOf(a);
  return {
    bytes,
    bindings: [{ ...source, element: "vec4f" }],
    uniforms: {},
    declarations: [`var<workgroup> staged: array<vec4f, ${quadsOf(a)}>;`, quadPlace],
    stagedBy: (others) => copiedRow(a, source, others),
    stage: {
      lines: [`for (var i = lane; i < p.k / 4u; i += ${lanes}u) { staged[quadOf(i)] = ${source.name}[i]; }`, "workgroupBarrier();"],
      lanes,
      bytes,
      quadAt: (index) => `staged[quadOf(${index})]`,
      unitQuadAt: noQuads,
    },
    leftOf: () => ({ a: "staged", isPacked: false }),
    values: () => ({}),
  };
}

/** Where a quad of a row of floats is. */
const quadPlace = `fn quadOf(i: u32) -> u32 { return i + i / ${quadsPerGap}u; }`;

function depthOf({ shape }: TensorSpec): number {
  return maximum(shape.at(-1) ?? 0);
}

function quadsOf(a: TensorSpec): number {
  const quads = depthOf(a) / 4;
  return quads + Math.floor(quads / quadsPerGap);
}
