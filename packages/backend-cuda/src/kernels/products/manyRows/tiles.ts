import { asValue, type Extent, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { HalfType } from "../../../ptx/matrix.ts";
import { epilogueArgs, type KernelCall, type NamedArguments, type Parameter } from "../../shared/kernel.ts";
import { type Columns, hasPowers, weightArgs } from "./columns.ts";
import { type ExpertSlots, slotArgs, slotCount } from "./expertSlots.ts";
import { tileRows, wholeTiles } from "./panels.ts";
import { readsUnits } from "./tileUnits.ts";

/** Row tiles that share columns: blocks that run at the same time read the same panels. */
const rowsPerGroup = 16;

export interface PanelOperands {
  readonly type: HalfType;
  readonly panels: number;
  /** `b` is where decoded weights are. Weights that need no decoding have none. */
  readonly places: { readonly a: Parameter; readonly factors: Parameter; readonly b?: Parameter };
  /** The slots that are the rows of the activations' panels, where the weights are those of experts. */
  readonly slots?: ExpertSlots;
}

/** What kernels read and write that multiply panels. */
export function panelArgs(call: KernelCall, columns: Columns, { places, slots }: PanelOperands): NamedArguments {
  const { results } = columns;
  return Object.fromEntries([
    ...Object.entries(places),
    ...(slots === undefined ? [] : Object.entries(slotArgs(slots))),
    ...results.flatMap(({ result }, i) => [[`y${i}`, result.y] as const, ...Object.entries(epilogueArgs(call, result.epilogue))]),
    ...(hasPowers(columns) || readsUnits(columns) ? weightArgs(results) : []),
  ]);
}

/** Place of a tile: its first row, and the number of its tile of columns among those of all results. */
interface TilePlace {
  readonly row: U32;
  readonly tile: U32;
}

/** The tiles of a launch: each block takes every n-th one. */
export interface Tiles {
  /** Rows of the activations' panels. */
  readonly allRows: U32;
  /** Runs `body` for each tile of the block. */
  forEach(body: (place: TilePlace) => void): void;
}

/** The tiles of `rows` rows, or of the rows of slots. */
export function tilesOf(
  k: PtxEmitter,
  columns: Columns,
  slots: ExpertSlots | undefined,
  { rows, blocks }: { readonly rows: Extent; readonly blocks: number },
): Tiles {
  return slots === undefined ? allTiles(k, columns, rows, blocks) : expertTiles(k, columns, slots, blocks);
}

/** Tiles of up to {@link rowsPerGroup} rows of tiles follow each other column by column. */
function allTiles(k: PtxEmitter, { first, end }: Columns, rows: Extent, blocks: number): Tiles {
  const allRows = wholeTiles(k, asValue(k, rows));
  const rowTiles = k.shiftRight(allRows, Math.log2(tileRows));
  const wide = end - first;
  return {
    allRows,
    forEach: (body) =>
      k.forUniform(k.block(), k.mul(rowTiles, wide), blocks, (number) => {
        const group = k.quotient(number, wide * rowsPerGroup);
        const rest = k.sub(number, k.mul(group, wide * rowsPerGroup));
        const from = k.mul(group, rowsPerGroup);
        const high = k.min(k.sub(rowTiles, from), rowsPerGroup);
        const column = k.quotient(rest, high);
        const row = k.add(from, k.sub(rest, k.mul(column, high)));
        body({ row: k.mul(row, tileRows), tile: k.add(column, first) });
      }),
  };
}

/** The tiles of an expert follow each other column by column. */
function expertTiles(k: PtxEmitter, { first, end, perTile }: Columns, slots: ExpertSlots, blocks: number): Tiles {
  const wide = slots.columns / perTile;
  const startOf = (expert: U32 | number): U32 => k.ld("u32", k.at("u32", k.pointer("tileStarts", "u32"), expert));
  const start = startOf(first / wide);
  const count = k.sub(startOf(end / wide), start);
  return {
    allRows: slotCount(k, slots),
    forEach: (body) =>
      k.forUniform(k.block(), k.mul(count, wide), blocks, (number) => {
        const expert = k.ld("u32", k.at("u32", k.pointer("tileExperts", "u32"), k.add(start, k.quotient(number, wide))));
        const from = startOf(expert);
        const high = k.sub(startOf(k.add(expert, 1)), from);
        const rest = k.sub(number, k.mul(k.sub(from, start), wide));
        const column = k.quotient(rest, high);
        const row = k.add(from, k.sub(rest, k.mul(column, high)));
        body({ row: k.mul(row, tileRows), tile: k.mad(expert, wide, column) });
      }),
  };
}
