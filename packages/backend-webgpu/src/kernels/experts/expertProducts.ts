import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, elementCount, type InputsOf } from "@centella/core/backend";
import { roundingOf } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { storeText } from "../../wgsl/epilogue.ts";
import { input, output } from "../../wgsl/module.ts";
import { type MatrixParts, matrixForm, matrixProducts, mostMatrixRows, readsHalves } from "../matrices/matrixTiles.ts";
import { matrixUnit } from "../matrices/matrixUnit.ts";
import { columnsByTile, rowsAtOnce } from "../shared/columnProducts.ts";
import type { Binding, Dispatch, KernelCall } from "../shared/kernel.ts";
import { preparedRows, ScratchSlots } from "../shared/preparedRows.ts";
import { rowParts, rowResult } from "../shared/products.ts";
import { readsUnits } from "../shared/roundedUnits.ts";
import { rowsOneByOne } from "../shared/rowProducts.ts";
import { count, maximum } from "../shared/shape.ts";
import { hasTileProduct, type TileParts, tileDispatch } from "../shared/tileProducts.ts";
import { hasRowProduct, rowElement } from "../shared/weights.ts";
import { type ExpertRows, mostExperts, mostTiles, rowsByExpert, rowsByToken, type SlotMemory, sortRows } from "./expertRows.ts";

/**
 * Rows for each expert, on average, from which rows are sorted by expert. By the times of products with one matrix, up to 16 rows that are
 * multiplied together take as long as 5.6 rows one by one.
 */
const fewestSorted = 6;

/** Fewest rows that are sorted, however few experts there are. */
const fewestRows = 9;

/**
 * Rows for each expert, on average, from which floats and matrices of subgroups pass through workgroup memory in tiles of 64 rows. Where codes can be
 * multiplied instead, that takes longer: 397 µs for 128 experts of 768 × 2,048 with 32 rows each on an H200, which 16 rows of codes at a time take 355 for.
 */
const fewestInTiles = 32;
const fewestInTilesOverCodes = 48;

/** Rows for each expert, on average, from which tiles of matrices may have 128 rows: with fewer, most of such a tile would be empty. */
const fewestInLargeTiles = 128;

/** Rows of a lane of tiles of floats, and of the tiles. */
const perLane = 4;
const tileRows = 16 * perLane;

type ExpertCall = KernelCall<InputsOf<"moeMatmul", TensorSpec>>;

/**
 * The dispatches of products with experts; undefined if lanes cannot read several weights at once. Few rows are multiplied one by one. More are
 * sorted by expert, and those of each expert are multiplied together.
 */
export function expertProducts(
  { inputs: [x, weight, ids] }: ExpertCall,
  params: ParamsOf<"moeMatmul">,
  capabilities: Capabilities,
): readonly Dispatch[] | undefined {
  const { dtype } = weight;
  const [experts, columns, depth, chosen] = [...weight.shape, ids.shape[1]];
  if (typeof experts !== "number" || typeof columns !== "number" || typeof depth !== "number" || typeof chosen !== "number")
    return undefined;
  if (!hasRowProduct(dtype, depth)) return undefined;
  const rounding = roundingOf(weight, params);
  const isPacked = readsUnits(dtype, rounding, capabilities);
  const rows: ExpertRows = { ids, experts, sharers: x.shape.length === 3 ? 1 : chosen };
  const isHalved = readsHalves(dtype, depth, params, capabilities);
  const hasTiles = isHalved || (!isPacked && hasTileProduct(dtype, depth));
  const inTiles = isPacked ? fewestInTilesOverCodes : fewestInTiles;
  const starts = formStarts(experts, hasTiles ? inTiles : Number.POSITIVE_INFINITY);
  const halvedFrom = isHalved && starts.tiled <= mostRows(rows) ? Math.ceil(starts.tiled / rows.sharers) : undefined;
  const scratch = new ScratchSlots();
  const subgroup = subgroupLanes(capabilities);
  const { left, dispatches } = preparedRows({ rounding, isPacked }, "a", x, input("a", 0), { scratch, halvedFrom, subgroup });
  const rowsIn = (dims: DimValues): number => count(ids.shape, dims);
  const parts: TileParts = { left: left.binding, isPacked, dtype, depth, columns, store: storeText(undefined), rowsIn };
  return [...dispatches, ...multiplied({ parts, halves: left.halves?.binding, rows, starts }, capabilities, scratch)];
}

/** Numbers of rows from which on rows are sorted by expert, and multiplied in tiles that pass through workgroup memory. */
interface FormStarts {
  readonly sorted: number;
  readonly tiled: number;
}

/** The starts if tiles take at least `inTiles` rows for each expert. */
function formStarts(experts: number, inTiles: number): FormStarts {
  const sorted = experts > mostExperts ? Number.POSITIVE_INFINITY : Math.max(fewestRows, fewestSorted * experts);
  return { sorted, tiled: Math.max(sorted, inTiles * experts) };
}

/** A product with experts. */
interface ExpertParts {
  readonly parts: TileParts;
  /** The rows that matrices of subgroups multiply. */
  readonly halves: Binding | undefined;
  readonly rows: ExpertRows;
  readonly starts: FormStarts;
}

function mostRows({ ids }: ExpertRows): number {
  return elementCount(ids.shape.map(maximum));
}

function multiplied(product: ExpertParts, capabilities: Capabilities, scratch: ScratchSlots): readonly Dispatch[] {
  const { parts, halves, rows, starts } = product;
  const most = mostRows(rows);
  const least = rows.ids.shape.every((dim) => typeof dim === "number") ? most : 0;
  const one = (): Dispatch => {
    const own = { ...rowParts(parts), order: rowsByToken(rows) };
    return rowsOneByOne(rowResult(parts), own, (m) => m < starts.sorted, capabilities);
  };
  if (most < starts.sorted) return [one()];
  const memory = slotMemory(most, rows.experts, scratch);
  const sorted: TileParts = { ...parts, order: rowsByExpert(rows, memory) };
  const matrices = halves && matrixParts(sorted, halves, rows.experts);
  const inTiles = matrices === undefined ? () => tileRows : matrixRowsIn(matrices, capabilities);
  const rowsInTiles = (m: number): number => (m < starts.sorted ? 1 : m < starts.tiled ? rowsAtOnce : inTiles(m));
  const isTiled = (m: number): boolean => m >= starts.tiled;
  const tiles = (): readonly Dispatch[] => {
    if (matrices === undefined) return [tileDispatch(sorted, perLane, isTiled)];
    return matrixProducts(matrices, { least: Math.max(least, starts.tiled), most }, capabilities);
  };
  const isInColumns = (m: number): boolean => m >= starts.sorted && !isTiled(m);
  return [
    sortRows(rows, memory, rowsInTiles, capabilities),
    ...(least < starts.sorted ? [one()] : []),
    ...(least < starts.tiled ? [columnsByTile(sorted, rows.experts, capabilities, isInColumns)] : []),
    ...(isTiled(most) ? tiles() : []),
  ];
}

/** The product as one of matrices of halves. */
function matrixParts({ dtype, columns, store, ...parts }: TileParts, halves: Binding, experts: number): MatrixParts {
  const weights = [{ binding: input("b", 1, rowElement(dtype)), dtype }];
  const mostRowsIn = (m: number): number => (m < fewestInLargeTiles * experts ? tileRows : Number.POSITIVE_INFINITY);
  return { ...parts, halves, results: [{ suffix: "", weights, columns, y: output("y"), store }], mostRows: mostRowsIn };
}

/** Rows of the tiles of matrices in runs with `m` rows. */
function matrixRowsIn(parts: MatrixParts, capabilities: Capabilities): (m: number) => number {
  const unit = matrixUnit(capabilities);
  if (unit === undefined) throw new TypeError("expected a device with matrices of subgroups; this is a bug");
  return (m) => matrixForm(m, parts, unit, capabilities).rows;
}

/** Scratch memory of the slots of up to `most` rows in tiles of any form. */
function slotMemory(most: number, experts: number, scratch: ScratchSlots): SlotMemory {
  const sizes = [rowsAtOnce, tileRows, mostMatrixRows];
  const tiles = sizes.map((size) => mostTiles(most, experts, size));
  const slots = tiles.map((each, i) => each * elementAt(sizes, i));
  const memory = (name: string, words: number): Binding => ({ name, resource: scratch.take(4 * words), access: "read", element: "u32" });
  return { slots: memory("slots", Math.max(...slots)), tiles: memory("tileExperts", Math.max(...tiles)) };
}
