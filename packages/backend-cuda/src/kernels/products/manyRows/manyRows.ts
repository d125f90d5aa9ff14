import { elementAt } from "@centella/core/backend";
import type { HalfType } from "../../../ptx/matrix.ts";
import { isPlain, type UnitFormat, unitRows } from "../../../weights/unitFormat.ts";
import { type Gpu, hasBulkCopies } from "../../shared/gpu.ts";
import { bucketElements, input, type KernelCall, type Launch, type Parameter } from "../../shared/kernel.ts";
import type { Scratch } from "../../shared/scratch.ts";
import { fewRowsShapes, type UnitProducts } from "../fewRows.ts";
import { formatsOf, kindsOf, type UnitResult, type Work } from "../segments.ts";
import { halfType } from "../tile.ts";
import { type Columns, columnsOf, panelRows } from "./columns.ts";
import { decodeUnits } from "./decodeUnits.ts";
import { multiplyByWarps, warpsAcross } from "./multiplyByWarps.ts";
import { multiplyPanels } from "./multiplyPanels.ts";
import { panelBytes, panelsOf, tileRows } from "./panels.ts";
import { type PanelOrder, roundRows } from "./roundRows.ts";
import { readsUnits } from "./tileUnits.ts";

/**
 * Fewer rows that `mixedInputLaunches` does not take are multiplied by {@link fewRowsLaunches}, whose blocks read the weights again for each
 * 16 rows. On an H200, 28,672 x 4,096 weights in q4_K take 98 us there with 32 rows and 191 us with 64. Here they take 158 us with up to 128 rows, 83 us of that to decode them.
 */
const minRows = 33;

/**
 * The same for devices without bulk copies, whose blocks have less shared memory. There {@link fewRowsLaunches} must not read the weights more often
 * than this: up to 16 rows in at most four groups, or in one group if weights need no decoding. Counts of instructions and of bytes chose
 * these numbers. A group takes 3.0 instructions per weight of q4_K and reads 0.6 bytes. Here it is 11 instructions and 4.6 bytes, and tensor cores
 * multiply 128 rows.
 */
const minRowsOfPieces = 17;
const maxRowGroups = 4;

/** Whether a run of so few rows is left to {@link fewRowsLaunches}. */
function isForFewRows(call: KernelCall, products: UnitProducts, rows: number): boolean {
  if (hasBulkCopies(call.gpu) || rows === 0) return rows < minRows;
  const mostOf = (work: Work): number => (formatsOf(work).every(isPlain) ? 1 : maxRowGroups);
  return rows < minRowsOfPieces && fewRowsShapes(call, products)?.every(({ rowGroups, work }) => rowGroups <= mostOf(work)) === true;
}

/** Numbers of products of a result that share a tile. */
const productCounts: readonly number[] = [1, 2, 4];

/** Columns of products of a tile; fewer where wide tiles would leave multiprocessors idle. */
const wideTile = 256;
const narrowTile = 128;

/** Most bytes of decoded weights at a time. */
const maxPanelBytes = 2 ** 28;

/** Most columns of weights that are multiplied together. */
export function maxColumns(format: UnitFormat, panels: number): number {
  return isPlain(format) ? Number.MAX_SAFE_INTEGER : maxPanelBytes / panelBytes(1, panels);
}

/**
 * Launches of products with weights in units, fast for many rows of activations; undefined for few rows, or if one of the products is of another
 * kind. Activations and weights become halves in panels, which tensor cores multiply.
 */
export function manyRowsLaunches(
  call: KernelCall,
  { depth, results, from = input(0), norm }: UnitProducts,
  scratch: Scratch,
): readonly Launch[] | undefined {
  const lead = elementAt(results, 0).shape.slice(0, -1);
  const rows = bucketElements(call, lead);
  const kinds = isForFewRows(call, { depth, results }, rows) ? undefined : kindsOf(call, results);
  if (kinds === undefined || !results.every(({ products }) => productCounts.includes(products.length))) return undefined;
  const rowTiles = Math.ceil(rows / tileRows);
  const allRows = tileRows * rowTiles;
  const multiply = multiplierOf(call.gpu);
  const shapes = kinds.map((kind) => shapeOf(kind, (width) => rowTiles * width >= call.gpu.multiprocessors));
  const columnBytes = shapes.flatMap(({ parts, panels }) => parts.flatMap((part) => decodedBytes(part, panels)));
  const places = {
    a: scratch.takeBytes(Math.max(...shapes.map(({ panels }) => panelBytes(allRows, panels)))),
    ...(columnBytes.length > 0 && { b: scratch.takeBytes(Math.max(...columnBytes)) }),
    factors: scratch.takeBytes(4 * allRows),
  };
  return shapes.flatMap(({ type, parts, panels }, i) => {
    const rounding = { from, lead, depth, norm, isFirst: i === 0, type, panels, order: orderOf(elementAt(parts, 0)) };
    return [
      roundRows(call, rounding, { panels: places.a, factors: places.factors }),
      ...parts.flatMap((part) => [...decoding(call, part, places.b), multiply(call, part, { type, panels, places }, lead)]),
    ];
  });
}

/** The launch that decodes the weights of columns to panels, if they need it. */
export function decoding(call: KernelCall, columns: Columns, panels: Parameter | undefined): readonly Launch[] {
  return panels === undefined || readsUnits(columns) ? [] : [decodeUnits(call, columns, panels)];
}

/** Bytes of the panels of decoded weights, if columns have some. */
export function decodedBytes(columns: Columns, panels: number): readonly number[] {
  return readsUnits(columns) ? [] : [panelBytes(columns.products * panelRows(columns), panels)];
}

/** The order of activations that are multiplied with weights of columns. */
export function orderOf(columns: Columns): PanelOrder {
  return readsUnits(columns) ? "units" : "depth";
}

/** The launch that multiplies panels. */
export function multiplierOf({ target }: Gpu): typeof multiplyPanels {
  return target === "sm_90a" ? multiplyPanels : multiplyByWarps;
}

/** How a kind of results is computed. */
interface Shape {
  readonly type: HalfType;
  readonly parts: readonly Columns[];
  /** Panels of the depth. */
  readonly panels: number;
}

/** `fills` returns whether a number of tiles of columns occupies the device. */
function shapeOf(results: readonly UnitResult[], fills: (columnTiles: number) => boolean): Shape {
  const { products } = elementAt(results, 0);
  const { format, units } = elementAt(products, 0).units;
  const panels = panelsOf(units * format.width);
  const partsOf = (width: number): readonly Columns[] => columnsOf(results, width / products.length, maxColumns(format, panels));
  const wide = partsOf(wideTile);
  // Warps share out whole row tiles of each product.
  const isNarrowEnough = narrowTile / products.length >= warpsAcross * unitRows;
  const parts = !isNarrowEnough || wide.every(({ first, end }) => fills(end - first)) ? wide : partsOf(narrowTile);
  return { type: halfType(format), parts, panels };
}
