import type { TensorSpec } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import { asValue, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Shared } from "../../../ptx/types.ts";
import {
  bucketElements,
  fixed,
  input,
  type KernelCall,
  type Launch,
  launch,
  type NamedArguments,
  output,
  type Parameter,
} from "../../shared/kernel.ts";
import type { Scratch } from "../../shared/scratch.ts";
import { tileRows } from "./panels.ts";

const threads = 1024;

/** Ids that a thread reads together. */
const inFlight = 4;

/** A slot without a row. */
const noRow = 0xffffffff;

/** Rows of activations by expert: those of each expert have consecutive slots, from a multiple of a tile's rows on. */
export interface ExpertSlots {
  /** Number of experts, and of rows of the matrix of each. */
  readonly experts: number;
  readonly columns: number;
  /** Most slots of a run. */
  readonly most: number;
  /** Experts that a row of the input is multiplied with. The input may have a row for each of them. */
  readonly sharers: number;
  /** By slot, its row of the results. */
  readonly rows: Parameter;
  /** By tile, its expert. */
  readonly tileExperts: Parameter;
  /** By expert, its first tile; then the number of all tiles. */
  readonly tileStarts: Parameter;
}

/** The slots of a call of `moeMatmul`; undefined if there are more experts than a block has threads. */
export function expertSlots(call: KernelCall, scratch: Scratch): ExpertSlots | undefined {
  const [x, { shape }, ids] = tupleOf(call.inputs as readonly TensorSpec[], 3);
  const experts = fixed(shape[0]);
  if (experts > threads) return undefined;
  const rows = bucketElements(call, ids.shape);
  const tiles = Math.floor(rows / tileRows) + Math.min(rows, experts);
  const words = (count: number): Parameter => ({ ...scratch.takeBytes(4 * count), dtype: "u32" }) as Parameter;
  return {
    experts,
    columns: fixed(shape[1]),
    most: tiles * tileRows,
    sharers: x.shape.length === 3 ? 1 : fixed(ids.shape[1]),
    rows: words(tiles * tileRows),
    tileExperts: words(tiles),
    tileStarts: words(experts + 1),
  };
}

/** What kernels read that multiply rows of slots. */
export function slotArgs({ rows, tileExperts, tileStarts }: ExpertSlots): NamedArguments {
  return { slotRows: rows, tileExperts, tileStarts };
}

/** Number of slots of a run. */
export function slotCount(k: PtxEmitter, { experts }: ExpertSlots): U32 {
  return k.mul(k.ld("u32", k.pointer("tileStarts", "u32"), experts), tileRows);
}

/** The row of results of a slot, beyond all rows if it has none. */
export function rowOfSlot(k: PtxEmitter, slot: U32): U32 {
  return k.ld("u32", k.at("u32", k.pointer("slotRows", "u32"), slot));
}

/**
 * Gives each row of `ids` a slot, with one block. Threads count the rows of each expert, then take slots in any order, on which no result
 * depends. Rows of experts that do not exist have none: their results become 0.
 */
export function placeRows(call: KernelCall, slots: ExpertSlots): Launch {
  const { experts, columns } = slots;
  const [, , ids] = tupleOf(call.inputs as readonly TensorSpec[], 3);
  return launch(call, "expertSlots", { threads, blocks: 1, args: { ids: input(2), y: output, ...slotArgs(slots) }, form: [] }, (scope) => {
    const { k } = scope;
    const rows = asValue(k, productOf(k, scope.extents(ids.shape)));
    const [counts, next] = [k.sharedMemory("u32", experts), k.sharedMemory("u32", experts)];
    const expert = k.thread();
    const isExpert = k.compare("lt", expert, experts);
    const own = k.min(expert, experts - 1);
    const [count, slot] = [k.sharedAt("u32", counts, own), k.sharedAt("u32", next, own)];
    k.if(isExpert, () => k.st("u32", count, k.constant("u32", 0)));
    k.sync();
    forEachRow(k, rows, (row, id) =>
      k.if(
        k.compare("lt", id, experts),
        () => void k.addShared(k.sharedAt("u32", counts, id), 1),
        () => k.for(0, columns, 1, (column) => k.store("y", k.mad(row, columns, column), k.constant("f32", 0))),
      ),
    );
    k.sync();
    const [start, end] = tilesOf(k, counts, own);
    const at = (name: string, index: U32): Global<"u32"> => k.at("u32", k.pointer(name, "u32"), index);
    k.if(isExpert, () => {
      k.st("u32", slot, k.mul(start, tileRows));
      k.st("u32", at("tileStarts", expert), start);
      k.for(start, end, 1, (tile) => k.st("u32", at("tileExperts", tile), expert));
    });
    k.if(k.compare("eq", expert, experts - 1), () => k.st("u32", at("tileStarts", k.add(expert, 1)), end));
    k.sync();
    forEachRow(k, rows, (row, id) =>
      k.if(k.compare("lt", id, experts), () => k.st("u32", at("slotRows", k.addShared(k.sharedAt("u32", next, id), 1)), row)),
    );
    k.sync();
    k.if(isExpert, () =>
      k.for(k.ld("u32", slot), k.mul(end, tileRows), 1, (free) => k.st("u32", at("slotRows", free), k.constant("u32", noRow))),
    );
  });
}

/** Runs `body` for a thread's rows of `ids`, with their experts. As unsigned, a negative id is beyond the experts too. */
function forEachRow(k: PtxEmitter, rows: U32, body: (row: U32, id: U32) => void): void {
  k.for(k.thread(), rows, inFlight * threads, (first) => {
    const places = Array.from({ length: inFlight }, (_, i) => k.add(first, i * threads));
    const ids = places.map((row) => k.loadBits("ids", k.min(row, k.sub(rows, 1))));
    for (const [i, row] of places.entries()) k.if(k.compare("lt", row, rows), () => body(row, ids[i] as U32));
  });
}

/** The first tile of an expert and the end of its tiles. */
function tilesOf(k: PtxEmitter, counts: Shared<"u32">, expert: U32): readonly [start: U32, end: U32] {
  const tiles = (of: U32): U32 => k.shiftRight(k.add(k.ld("u32", k.sharedAt("u32", counts, of)), tileRows - 1), Math.log2(tileRows));
  const start = k.variable("u32", 0);
  k.for(0, expert, 1, (earlier) => start.set(k.add(start.get(), tiles(earlier))));
  return [start.get(), k.add(start.get(), tiles(expert))];
}
