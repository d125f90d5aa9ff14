import type { DimValues, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  normLanes,
  type SiblingProduct,
  type Siblings,
  type StagedRows,
  stagedNormArgs,
  stageNorm,
} from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { bindingsOf, dtypesOf, rowLanes, Uniforms } from "../../wgsl/gpuKernel.ts";
import type { Binding } from "./kernel.ts";
import { type RowParts, type RowStage, sumBytes } from "./rowProducts.ts";
import { maximum } from "./shape.ts";

/** Where products of few rows read these. */
export interface RowSource extends Pick<RowParts, "bindings" | "uniforms" | "declarations"> {
  readonly stage?: RowStage;
  /** Name of the memory that a product reads. */
  nameOf(product: SiblingProduct): string;
  values(dims: DimValues): Record<string, number>;
}

/** Rows in memory: `lefts` has them in each form that products multiply, unchanged or rounded. */
export function storedRows(lefts: readonly Binding[]): RowSource {
  return {
    bindings: lefts.map((left) => ({ ...left, element: "vec4f" })),
    uniforms: {},
    declarations: [],
    nameOf: ({ left }) => elementAt(lefts, left).name,
    values: () => ({}),
  };
}

/** Quads of {@link normedRow} between two that are left out: lanes that read neighbouring blocks of 32 elements then read different banks. */
const quadsPerGap = 8;

/** One row that each workgroup norms in its own memory. The first workgroup stores the norm's extra output. */
export function normedRow({ a, lefts: [rounding] }: Siblings, norm: AnchoredCall): RowSource {
  const args = stagedNormArgs(norm);
  const { lanes = rowLanes } = normLanes(a.shape.at(-1) ?? 0);
  const k = new WgslEmitter(dtypesOf(args), lanes);
  const scope = new Uniforms(k, "norm_");
  const quad = (index: string): string => `staged[quadOf(${index})]`;
  const element = (index: string): string => `${quad(`${index} >> 2u`)}[${index} & 3u]`;
  const staged: StagedRows = {
    get: (index) => k.define("f32", element(index)),
    set: (index, value) => void k.lines.push(`${element(index)} = ${value};`),
    width: 4,
    store: (index, values) => void k.lines.push(`${quad(`${index} >> 2u`)} = vec4f(${values.join(", ")});`),
  };
  const isKeeper = k.compare("eq", k.define("u32", "group"), 0);
  stageNorm(scope, norm, { rows: 1, most: 1, rounding, staged, isKeeper });
  return {
    bindings: bindingsOf(args, k),
    uniforms: scope.types,
    declarations: [
      `var<workgroup> staged: array<vec4f, ${quadsOf(a)}>;`,
      `fn quadOf(i: u32) -> u32 { return i + i / ${quadsPerGap}u; }`,
      ...k.declarations,
    ],
    stage: { lines: k.lines, lanes, quadAt: quad },
    nameOf: () => "staged",
    values: (dims) => scope.values(dims),
  };
}

/** Bytes of a workgroup's memory for {@link normedRow} and its products: the row, what is added up, and the largest elements of blocks. */
export function normedBytes({ a, lefts: [rounding], results }: Siblings): number {
  const { lanes = rowLanes } = normLanes(a.shape.at(-1) ?? 0);
  const most = Math.max(...results.map(({ products }) => products.length));
  const rounded = rounding === undefined ? 0 : depthOf(a) / 16;
  return 16 * quadsOf(a) + sumBytes(most, 1, lanes) + 4 * (1 + lanes + rounded);
}

function depthOf({ shape }: TensorSpec): number {
  return maximum(shape.at(-1) ?? 0);
}

function quadsOf(a: TensorSpec): number {
  const quads = depthOf(a) / 4;
  return quads + Math.floor(quads / quadsPerGap);
}
