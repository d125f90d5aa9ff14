import { asValue, type Extent, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { HalfType } from "../../../ptx/matrix.ts";
import { epilogueArgs, type KernelCall, type NamedArguments, type Parameter } from "../../shared/kernel.ts";
import { type Columns, weightArgs } from "./columns.ts";
import { tileRows, wholeTiles } from "./panels.ts";
import { hasPowers } from "./tileResults.ts";

/** Row tiles that share columns: blocks that run at the same time read the same panels. */
const rowsPerGroup = 16;

export interface PanelOperands {
  readonly type: HalfType;
  readonly panels: number;
  readonly places: { readonly a: Parameter; readonly factors: Parameter; readonly b: Parameter };
}

/** What kernels read and write that multiply panels. */
export function panelArgs(call: KernelCall, columns: Columns, { places }: PanelOperands): NamedArguments {
  const { results } = columns;
  return Object.fromEntries([
    ...Object.entries(places),
    ...results.flatMap(({ result }, i) => [[`y${i}`, result.y] as const, ...Object.entries(epilogueArgs(call, result.epilogue))]),
    ...(hasPowers(columns) ? weightArgs(results) : []),
  ]);
}

/** Place of a tile: its first row, and the number of its tile of columns among those of all results. */
interface TilePlace {
  readonly row: U32;
  readonly tile: U32;
}

/** The tiles of a launch: each block takes every n-th one. */
export class Tiles {
  /** Rows of the activations' panels. */
  readonly allRows: U32;
  readonly #k: PtxEmitter;
  readonly #columns: Columns;
  readonly #blocks: number;
  readonly #rowTiles: U32;

  constructor(k: PtxEmitter, columns: Columns, { rows, blocks }: { readonly rows: Extent; readonly blocks: number }) {
    this.#k = k;
    this.#columns = columns;
    this.#blocks = blocks;
    this.allRows = wholeTiles(k, asValue(k, rows));
    this.#rowTiles = k.shiftRight(this.allRows, Math.log2(tileRows));
  }

  /** Runs `body` for each tile of the block. Tiles of up to {@link rowsPerGroup} rows of tiles follow each other column by column. */
  forEach(body: (place: TilePlace) => void): void {
    const k = this.#k;
    const { first, end } = this.#columns;
    const wide = end - first;
    const all = k.mul(this.#rowTiles, wide);
    k.forUniform(k.block(), all, this.#blocks, (number) => {
      const group = k.quotient(number, wide * rowsPerGroup);
      const rest = k.sub(number, k.mul(group, wide * rowsPerGroup));
      const from = k.mul(group, rowsPerGroup);
      const high = k.min(k.sub(this.#rowTiles, from), rowsPerGroup);
      const column = k.quotient(rest, high);
      const row = k.add(from, k.sub(rest, k.mul(column, high)));
      body({ row: k.mul(row, tileRows), tile: k.add(column, first) });
    });
  }
}
