import { elementAt } from "@centella/core/backend";
import { type F32, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { HalfType, LeftFragment, RightFragment, SumFragment } from "../../../ptx/matrix.ts";
import type { Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { lanes } from "../../shared/gpu.ts";
import { type KernelCall, type Launch, launch, type Scope, waitForEarlier } from "../../shared/kernel.ts";
import type { UnitResult } from "../segments.ts";
import { type Columns, panelRows, tileWidth } from "./columns.ts";
import { panelDepth, panelRowBytes, tileRows } from "./panels.ts";
import { TileResults } from "./tileResults.ts";
import { type PanelOperands, panelArgs, tilesOf } from "./tiles.ts";
import { readsUnits, rowUnitBytes, TileUnits } from "./tileUnits.ts";

/** Warps of a block, two by four, each with a part of the tile. */
const warpsDown = 2;
export const warpsAcross = 4;
const threads: number = warpsDown * warpsAcross * lanes;
/** Bytes that all threads copy at a time. */
const threadsBytes: number = 16 * threads;
const warpRows: number = tileRows / warpsDown;

const maxStages = 4;
/** Shared memory that the driver takes of each block. */
const reservedBytes = 1024;

/**
 * Multiplies activations in panels with columns' weights, in panels or in units that are rows of panels, on devices without products of warpgroups. Each block computes every
 * n-th tile of the results. Its threads copy panels to a ring of stages, ahead of the stage that they multiply.
 */
export function multiplyByWarps(call: KernelCall, columns: Columns, operands: PanelOperands, lead: UnitResult["result"]["shape"]): Launch {
  const blocks = call.gpu.multiprocessors;
  const args = panelArgs(call, columns, operands);
  return launch(
    call,
    `matmulManyByWarps_${operands.type}`,
    { threads, blocks, args, waitsInBody: true, form: [columns, operands] },
    (scope) => {
      const { k } = scope;
      k.blocksPerMultiprocessor = 1;
      waitForEarlier(scope, call);
      const rows = productOf(k, scope.extents(lead));
      const tiles = tilesOf(k, columns, operands.slots, { rows, blocks });
      const results = new TileResults(scope, columns, operands, rows);
      const stages = new CopiedStages(scope, columns, operands, { allRows: tiles.allRows, sharedBytes: call.gpu.sharedBytes });
      const part = new WarpPart(k, columns, operands.type);
      tiles.forEach(({ row, tile }) => {
        part.clear();
        stages.run(row, tile, (stage) => part.multiply(stage));
        part.fragments.forEach((sums, i) => void results.store(sums, results.rowsFrom(k.add(row, k.add(part.firstRow, 16 * i))), tile));
      });
    },
  );
}

/** A ring of stages with a panel of both operands' rows each. */
class CopiedStages {
  readonly #k: PtxEmitter;
  readonly #columns: Columns;
  readonly #panels: number;
  readonly #allRows: U32;
  readonly #bytes: number;
  readonly #count: number;
  readonly #memory: Shared<"u32">;
  /** The units that are rows of weights' panels, if the weights are read from there. */
  readonly #units: TileUnits | undefined;

  constructor(
    { k }: Scope,
    columns: Columns,
    { panels }: PanelOperands,
    { allRows, sharedBytes }: { readonly allRows: U32; readonly sharedBytes: number },
  ) {
    this.#k = k;
    this.#columns = columns;
    this.#panels = panels;
    this.#allRows = allRows;
    this.#bytes = (tileRows + tileWidth(columns)) * panelRowBytes;
    this.#count = Math.min(maxStages, Math.floor((sharedBytes - reservedBytes) / this.#bytes));
    this.#memory = k.sharedMemory("u32", (this.#count * this.#bytes) / 4, 128);
    this.#units = readsUnits(columns) ? new TileUnits(k, columns) : undefined;
  }

  /** Runs `multiply` for each panel of a tile, in order. */
  run(row: U32, tile: U32, multiply: (stage: Shared<"u32">) => void): void {
    const k = this.#k;
    const ahead = this.#count - 1;
    const [filled, used] = [k.variable("u32", 0), k.variable("u32", 0)];
    const fill = (panel: U32): void => {
      k.if(k.compare("lt", panel, this.#panels), () => this.#copy(this.#at(filled.get()), { row, tile }, panel));
      k.commitCopies();
      this.#advance(filled);
    };
    this.#units?.enter(tile);
    // All warps have read the stages of the tile before.
    k.sync();
    for (let panel = 0; panel < ahead; panel++) fill(k.constant("u32", panel));
    k.forUniform(0, this.#panels, 1, (panel) => {
      k.waitCopies(ahead - 1);
      // The copies of all threads are over, and the stage that is filled next has been read.
      k.sync();
      fill(k.add(panel, ahead));
      multiply(this.#at(used.get()));
      this.#advance(used);
    });
  }

  /** Starts a thread's copies of a panel. */
  #copy(stage: Shared<"u32">, { row, tile }: { readonly row: U32; readonly tile: U32 }, panel: U32): void {
    const k = this.#k;
    const { products, perTile, first } = this.#columns;
    const rows = panelRows(this.#columns);
    const column = k.mul(k.sub(tile, first), perTile);
    const own = k.shiftLeft(k.thread(), 4);
    const to = k.sharedAtBytes<"u32">(stage, own);
    const copy = (name: string, from: U32, count: number, at: number): void => {
      const source = k.atBytes(k.atBytes(k.pointer(name, "u32"), from, panelRowBytes), own, 1);
      for (let done = 0; done < count * panelRowBytes; done += threadsBytes)
        k.copyPiece(k.sharedAtBytes(to, at + done), k.at("u32", source, done / 4));
    };
    copy("a", k.mad(panel, this.#allRows, row), tileRows, 0);
    for (let j = 0; j < products; j++) {
      const at = (tileRows + j * perTile) * panelRowBytes;
      if (this.#units === undefined) copy("b", k.mad(k.add(panel, j * this.#panels), rows, column), perTile, at);
      else
        for (let done = 0; done < perTile * panelRowBytes; done += threadsBytes) {
          const number = k.add(k.shiftRight(own, Math.log2(rowUnitBytes)), done / rowUnitBytes);
          const piece = k.atBytes(this.#units.at(j, number, panel), k.and(own, rowUnitBytes - 1), 1);
          k.copyPiece(k.sharedAtBytes(to, at + done), piece);
        }
    }
  }

  #at(stage: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#memory, this.#k.mul(stage, this.#bytes));
  }

  #advance(stage: Var<"u32">): void {
    const k = this.#k;
    const next = k.add(stage.get(), 1);
    stage.set(k.select(k.compare("eq", next, this.#count), k.constant("u32", 0), next));
  }
}

/** Sums of 16 rows of a warp's part of a tile. */
interface FragmentSums {
  readonly columns: number;
  readonly first: U32;
  readonly registers: readonly Var<"f32">[];
  get(index: number): F32;
}

/** A warp's part of a tile: some rows, and as many columns of each product. */
class WarpPart {
  /** First row of the part. */
  readonly firstRow: U32;
  /** For each 16 rows. */
  readonly fragments: readonly FragmentSums[];
  readonly #k: PtxEmitter;
  readonly #columns: Columns;
  readonly #type: HalfType;
  /** Bytes from a stage's start on of the rows that the lane addresses: those of the first 16 of the left operand, and of the right one. */
  readonly #left: U32;
  readonly #right: U32;
  /** Bytes from there on of the lane's pieces, for each step of the depth. */
  readonly #leftPieces: readonly U32[];
  readonly #rightPieces: readonly U32[];

  constructor(k: PtxEmitter, columns: Columns, type: HalfType) {
    this.#k = k;
    this.#columns = columns;
    this.#type = type;
    const lane = k.and(k.thread(), lanes - 1);
    const warp = k.shiftRight(k.thread(), 5);
    this.firstRow = k.mul(k.quotient(warp, warpsAcross), warpRows);
    const own = columns.perTile / warpsAcross;
    const first = k.mul(k.remainder(warp, warpsAcross), own);
    this.fragments = Array.from({ length: warpRows / 16 }, (): FragmentSums => {
      const registers = Array.from({ length: (own * columns.products) / 2 }, () => k.variable("f32", 0));
      return { columns: own, first, registers, get: (index) => elementAt(registers, index).get() };
    });
    // Matrices of the left operand: rows 0 to 7 and 8 to 15, then those of the second piece. Matrices of the right operand: both pieces of
    // rows 0 to 7, then both of rows 8 to 15.
    const [inMatrix, matrix] = [k.and(lane, 7), k.shiftRight(lane, 3)];
    const [low, high] = [k.and(matrix, 1), k.shiftRight(matrix, 1)];
    const rowOf = (from: U32, half: U32): U32 => k.mul(k.add(from, k.mad(half, 8, inMatrix)), panelRowBytes);
    this.#left = rowOf(this.firstRow, low);
    this.#right = k.add(rowOf(first, high), tileRows * panelRowBytes);
    const piecesOf = (half: U32): readonly U32[] =>
      Array.from({ length: panelDepth / 16 }, (_, step) => k.shiftLeft(k.xor(k.xor(half, inMatrix), 2 * step), 4));
    this.#leftPieces = piecesOf(high);
    this.#rightPieces = piecesOf(low);
  }

  clear(): void {
    for (const { registers } of this.fragments) for (const sum of registers) sum.set(0);
  }

  /** Adds the products of a stage. */
  multiply(stage: Shared<"u32">): void {
    const k = this.#k;
    const { products, perTile } = this.#columns;
    const groups = perTile / warpsAcross / 16;
    const [left, right] = [k.sharedAtBytes<"u32">(stage, this.#left), k.sharedAtBytes<"u32">(stage, this.#right)];
    for (let step = 0; step < panelDepth / 16; step++) {
      const from = k.sharedAtBytes<"u32">(left, elementAt(this.#leftPieces, step));
      const rows = this.fragments.map((_, i): LeftFragment => k.loadMatrices(from, 16 * i * panelRowBytes));
      const to = k.sharedAtBytes<"u32">(right, elementAt(this.#rightPieces, step));
      for (let j = 0; j < products; j++)
        for (let group = 0; group < groups; group++) {
          const [a, b, c, d] = k.loadMatrices(to, (j * perTile + 16 * group) * panelRowBytes);
          for (const [i, row] of rows.entries())
            for (const [half, column] of [[a, b] as const, [c, d] as const].entries())
              this.#add(i, 2 * (j * groups + group) + half, row, column);
        }
    }
  }

  /** Adds a product to the sums of eight columns of 16 rows. */
  #add(fragment: number, columns: number, left: LeftFragment, right: RightFragment): void {
    const sums = elementAt(this.fragments, fragment).registers.slice(4 * columns, 4 * columns + 4);
    const before = sums.map((sum) => sum.get()) as readonly F32[] as SumFragment;
    const after = this.#k.multiplyMatrices(this.#type, left, right, before);
    for (const [i, sum] of sums.entries()) sum.set(elementAt(after, i));
  }
}
