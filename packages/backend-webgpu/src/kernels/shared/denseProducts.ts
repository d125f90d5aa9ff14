import type { Dim, DimValues, DType, ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, elementCount, maxSpec, tupleOf } from "@centella/core/backend";
import { loader } from "../../wgsl/emitter.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { defineDispatch, elementOf, input, output } from "../../wgsl/module.ts";
import { workgroupReduce } from "../../wgsl/workgroupReduce.ts";
import { extentOf, type FloatOperand, type FloatTile, floatTileFor, floatTiles, floatTileText } from "./floatTiles.ts";
import type { Binding, Dispatch, ElementType } from "./kernel.ts";
import type { RowCounts } from "./rowProducts.ts";
import { extent, extents } from "./shape.ts";
import { quadElement } from "./weights.ts";

/** A product of any operands that the op takes. */
export interface DenseParts {
  readonly a: TensorSpec;
  readonly b: TensorSpec;
  readonly y: TensorSpec;
  readonly params: ParamsOf<"matmul">;
  /** All rows of a are one matrix. */
  readonly isFolded: boolean;
  /** The binding of a. */
  readonly left: Binding;
  readonly store: EpilogueText;
}

interface DenseCounts extends RowCounts {
  readonly fewest?: number;
}

/** From this many rows on, a tile is not mostly empty. */
const fewestTiled = 9;

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: readonly number[];
}

function sizesIn({ b, y, params, isFolded }: DenseParts, dims: DimValues): Sizes {
  const shape = extents(y.shape, dims);
  const [m, n] = tupleOf(shape.slice(-2), 2);
  const batch = shape.slice(0, -2);
  return {
    m: isFolded ? m * elementCount(batch) : m,
    n,
    k: extent(b.shape, params.transposeB ? -1 : -2, dims),
    batch: isFolded ? [] : batch,
  };
}

/**
 * Dispatches of a product of any operands, in runs of `least` to `most` rows. Those of fewer than `fewest` have no tiles, and are left to others
 * where `least` is no lower.
 */
export function denseProducts(parts: DenseParts, { least, most, fewest = fewestTiled }: DenseCounts): readonly Dispatch[] {
  const { a, b, y, params, isFolded, left, store } = parts;
  const batchRank = isFolded ? 0 : y.shape.length - 2;
  const axes = Array.from({ length: batchRank }, (_, axis) => axis);
  const sizeNames = ["m", "n", "k", ...axes.flatMap((axis) => [`d${axis}`, `as${axis}`, `bs${axis}`])];
  const uniforms = { ...Object.fromEntries(sizeNames.map((name) => [name, "u32" as const])), ...store.uniforms };
  const text = productText(b.dtype, params, batchRank, store);
  const dispatch = ({ elements, ...form }: Form, takes: (sizes: Sizes) => boolean, groupsOf: (sizes: Sizes) => number): Dispatch =>
    defineDispatch({
      bindings: [
        { ...left, element: elements?.a ?? left.element },
        input("b", 1, elements?.b ?? elementOf(b.dtype)),
        output("y"),
        ...store.bindings,
      ],
      uniforms,
      ...form,
      sizeIn(dims) {
        const sizes = sizesIn(parts, dims);
        const { m, n, k, batch } = sizes;
        const strides = batchValues(batch, batchStrides(a, batch, dims, m * k), batchStrides(b, batch, dims, k * n));
        const groups = takes(sizes) ? elementCount(batch) * groupsOf(sizes) : 0;
        return { groups, values: { m, n, k, ...strides, ...store.values(dims) } as Record<string, number> };
      },
    });

  // Tiles read elements of the depth before they count them.
  const isFew = ({ m, k }: Sizes): boolean => m < fewest || k === 0;
  const few = params.transposeB
    ? () => dispatch(dotPerGroup(text), isFew, ({ m, n }) => m * n)
    : () => dispatch(dotPerColumn(text), isFew, ({ m, n }) => m * Math.ceil(n / columns));
  const tilesOf = (sizes: Sizes, extent: number): number => Math.ceil(sizes.m / extent) * Math.ceil(sizes.n / extent);
  const choiceOf = (sizes: Sizes): number => floatTileFor((extent) => elementCount(sizes.batch) * tilesOf(sizes, extent));
  const depth = depthOf(parts);
  const many = (): readonly Dispatch[] => {
    const isStatic = y.shape.every((dim) => typeof dim === "number");
    // Smaller runs take smaller tiles.
    const largest = choiceOf(sizesIn({ ...parts, b: maxSpec(b), y: maxSpec(y) }, {}));
    return floatTiles(typeof depth === "number" ? depth : undefined).flatMap((tile, i) => {
      if (i < largest || (isStatic && i > largest)) return [];
      const takes = (sizes: Sizes): boolean => !isFew(sizes) && choiceOf(sizes) === i;
      return [dispatch(tiled(text, tile, operandsOf(parts)), takes, (sizes) => tilesOf(sizes, extentOf(tile)))];
    });
  };
  return [...(least < fewest || !isPositive(depth) ? [few()] : []), ...(most >= fewest && depth !== 0 ? many() : [])];
}

function depthOf({ b, params: { transposeB } }: Pick<DenseParts, "b" | "params">): Dim | undefined {
  return b.shape.at(transposeB ? -1 : -2);
}

/** How the tiles of a product read its operands. */
function operandsOf({ a, b, params }: Pick<DenseParts, "a" | "b" | "params">): Record<"a" | "b", FloatOperand> {
  const { transposeA, transposeB } = params;
  const k = depthOf({ b, params });
  // Extents along which the operands are stored. Rows of a that were rounded are along the depth.
  const [lengthOfA, lengthOfB] = [transposeA ? a.shape.at(-1) : k, b.shape.at(-1)];
  const isWhole = (length: Dim | undefined): boolean => isPositive(length) && length % 4 === 0;
  return {
    a: { dtype: "f32", isAlongDepth: !transposeA, isScalar: !isWhole(lengthOfA) },
    b: { dtype: b.dtype, isAlongDepth: transposeB, isScalar: !["f32", "f16", "bf16"].includes(b.dtype) || !isWhole(lengthOfB) },
  };
}

/** Whether the operands are matrices of floats of a known depth that lanes can read four elements at a time. */
export function hasFloatTiles(parts: Pick<DenseParts, "a" | "b" | "params">): boolean {
  return isPositive(depthOf(parts)) && Object.values(operandsOf(parts)).every(({ isScalar }) => !isScalar);
}

function isPositive(dim: Dim | undefined): dim is number {
  return typeof dim === "number" && dim > 0;
}

/** {@link floatTileText} as a form. */
function tiled({ batch, declarations, hasEpilogue }: Text, tile: FloatTile, { a, b }: Record<"a" | "b", FloatOperand>): Form {
  const text = floatTileText(tile, a, b, hasEpilogue);
  const loads = declarations.filter((each) => b.isScalar || !each.includes("fn load_b"));
  return {
    elements: { a: a.isScalar ? "f32" : "vec4f", b: b.isScalar ? elementOf(b.dtype) : quadElement(b.dtype) },
    lanes: tile.side ** 2,
    declarations: [...loads, ...text.declarations],
    body: `
      let across = (p.n + ${extentOf(tile) - 1}u) / ${extentOf(tile)}u;
      let down = (p.m + ${extentOf(tile) - 1}u) / ${extentOf(tile)}u;
      let j0 = group / down % across * ${extentOf(tile)}u;
      let i0 = group % down * ${extentOf(tile)}u;
      let s = group / across / down;
      ${batch}
      let yAt = s * p.m * p.n;
      ${text.body}
    `,
  };
}

/** Pieces of WGSL that the forms of the product share. */
interface Text {
  /** Sets `aAt` and `bAt`, where the matrices of batch `s` start. */
  readonly batch: string;
  readonly aIndex: (row: string, column: string) => string;
  readonly bIndex: (row: string, column: string) => string;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly declarations: readonly string[];
  readonly hasEpilogue: boolean;
}

function productText(
  dtype: DType,
  { transposeA, transposeB }: Pick<Text, "transposeA" | "transposeB">,
  batchRank: number,
  store: EpilogueText,
): Text {
  const axes = Array.from({ length: batchRank }, (_, i) => batchRank - 1 - i);
  return {
    batch: [
      "var rest = s; var aAt = 0u; var bAt = 0u;",
      ...axes.map((x) => `aAt += rest % p.d${x} * p.as${x}; bAt += rest % p.d${x} * p.bs${x}; rest /= p.d${x};`),
    ].join("\n"),
    aIndex: (row, column) => (transposeA ? `aAt + ${column} * p.m + ${row}` : `aAt + ${row} * p.k + ${column}`),
    bIndex: (row, column) => (transposeB ? `bAt + ${column} * p.k + ${row}` : `bAt + ${row} * p.n + ${column}`),
    transposeA,
    transposeB,
    declarations: [...loader("b", dtype), ...store.declarations],
    // Besides the function that stores an element.
    hasEpilogue: store.declarations.length > 1,
  };
}

interface Form {
  readonly lanes: number;
  /** How the operands are read, if not one element at a time. */
  readonly elements?: { readonly a: ElementType; readonly b: ElementType };
  readonly declarations: readonly string[];
  readonly body: string;
}

const vectorLanes = 64;

/** Terms that a lane loads before it adds them up, so that the loads overlap. */
const ahead = 4;

/** A lane's sum of `term(k)` for k = from, from + step, … */
function laneSum(from: string, step: number, term: (k: string) => string): string {
  const terms = Array.from({ length: ahead }, (_, i) => i);
  return `
      var sum = 0.0;
      var k = ${from};
      for (; k + ${(ahead - 1) * step}u < p.k; k += ${ahead * step}u) {
        ${terms.map((i) => `let t${i} = ${term(i === 0 ? "k" : `(k + ${i * step}u)`)};`).join(" ")}
        sum += (t0 + t1) + (t2 + t3);
      }
      for (; k < p.k; k += ${step}u) { sum += ${term("k")}; }`;
}

/** A workgroup per output, its lanes along k: b's rows are contiguous. */
function dotPerGroup({ batch, aIndex, bIndex, declarations }: Text): Form {
  return {
    lanes: vectorLanes,
    declarations: [...declarations, workgroupReduce("total", "add", vectorLanes)],
    body: `
      let j = group % p.n;
      let i = group / p.n % p.m;
      let s = group / p.n / p.m;
      ${batch}
      ${laneSum("lane", vectorLanes, (k) => `a[${aIndex("i", k)}] * load_b(${bIndex(k, "j")})`).trim()}
      sum = total(lane, sum);
      if (lane == 0u) { store(group, sum); }
    `,
  };
}

/** Columns that a workgroup computes in {@link dotPerColumn}, and parts of k that its lanes share. */
const columns = 16;
const slices = 16;

/** A workgroup per few columns, its lanes along k as well: neighbours read b's neighbouring columns, and many rows of b are read at once. */
function dotPerColumn({ batch, aIndex, bIndex, declarations }: Text): Form {
  const lanes = columns * slices;
  return {
    lanes,
    declarations: [...declarations, `var<workgroup> parts: array<f32, ${lanes}>;`],
    body: `
      let strips = (p.n + ${columns - 1}u) / ${columns}u;
      let j = group % strips * ${columns}u + lane % ${columns}u;
      let i = group / strips % p.m;
      let s = group / strips / p.m;
      ${batch}
      // Lanes beyond the last column read it again and store nothing.
      let column = min(j, p.n - 1u);
      ${laneSum(`lane / ${columns}u`, slices, (k) => `a[${aIndex("i", k)}] * load_b(${bIndex(k, "column")})`).trim()}
      parts[lane] = sum;
      for (var stride = ${lanes / 2}u; stride >= ${columns}u; stride >>= 1u) {
        workgroupBarrier();
        if (lane < stride) { parts[lane] += parts[lane + stride]; }
      }
      if (lane < ${columns}u && j < p.n) { store((s * p.m + i) * p.n + j, parts[lane]); }
    `,
  };
}

/** Uniforms of the batch axes: extents, and strides of both operands. */
function batchValues(batch: readonly number[], ofA: readonly number[], ofB: readonly number[]): Record<string, number> {
  return Object.fromEntries(
    batch.flatMap((extentOfAxis, axis) => [
      [`d${axis}`, extentOfAxis],
      [`as${axis}`, elementAt(ofA, axis)],
      [`bs${axis}`, elementAt(ofB, axis)],
    ]),
  );
}

/** Elements between the matrices of `spec` along each batch axis of the output; 0 where it stretches. */
function batchStrides(spec: TensorSpec, batch: readonly number[], dims: DimValues, matrix: number): readonly number[] {
  const own = extents(spec.shape.slice(0, -2), dims);
  const lead = batch.length - own.length;
  return batch.map((_, axis) => {
    const at = axis - lead;
    return at < 0 || own[at] === 1 ? 0 : matrix * elementCount(own.slice(at + 1));
  });
}
