import { atomic, type Expr, type FunctionRef, i32, i64, type ModuleBuilder, slotBytes, threadIndex } from "../emit/index.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { stageResult } from "./worker.ts";

/**
 * Byte offsets in the control block of the current step list. Fields that are written often have cache lines of their
 * own.
 *
 * The ticket (`tile` and `epoch`, 64 bits) is `epoch << 32 | tile`. A thread takes a tile by exchanging the ticket for
 * the next one. The exchange fails if another thread took the tile or the stage has changed, so a thread that slept
 * does no harm. The thread that completes a stage's last tile opens the next stage: it closes the ticket, writes the
 * stage's fields, and publishes the next epoch. `stage`, `end` and `calls` are addresses of 8 bytes.
 *
 * Threads below `firstThread` leave the list to the others: they may not have its functions.
 */
export const controlFields = {
  tile: 0,
  epoch: 4,
  stage: 64,
  end: 72,
  calls: 80,
  tiles: 88,
  callBytes: 92,
  grain: 96,
  total: 100,
  done: 128,
  isRunning: 192,
  cancel: 196,
  sleeping: 200,
  failed: 204,
  firstThread: 208,
} as const;

/** Value of `tile` while no tile can be taken. */
export const closed = -1;

/**
 * Fields of a stage in memory, in i32: the address of its calls (8 bytes), the number of tiles, bytes between the calls
 * of two tiles (0: all tiles are ranges of one call), units per range, total units. Tiles of a stage may run at the
 * same time and in any order. A call's first slot has the function's table slot and the bytes to the tile's next call
 * (0: none). The other slots are its arguments.
 */
export const stageFields = { calls: 0, tiles: 2, callBytes: 3, grain: 4, total: 5, count: 6 } as const;

/** The numeric fields of a stage. */
export const stageNumbers = ["tiles", "callBytes", "grain", "total"] as const;

/**
 * Emits the functions with which threads run a step list.
 *
 * `runTiles(budget, spins, patience)` takes and runs tiles. It returns `idle` when the list is done or left to others (`ended` on the one
 * thread that ends it), `budget` after that many tiles, and `waited` if no tile could be taken for `spins` polls and
 * then `patience` ms of sleep (negative: no limit). After a cancel the remaining tiles of the stage are skipped and the
 * list ends.
 *
 * `abandon()` is called by a thread whose tile trapped. It returns 1 if it ends the list.
 */
export function emitStageRunner(module: ModuleBuilder): void {
  const complete = emitComplete(module);
  emitRunTiles(module, complete);
  module.value("abandon", {}, "i32", (f) => {
    f.atomicStore(at("failed"), i32.const(1));
    f.atomicStore(at("cancel"), i32.const(1));
    return f.invoke(complete, {});
  });
}

const at = (field: keyof typeof controlFields): number => memoryMap.control + controlFields[field];
const read = (field: keyof typeof controlFields): Expr<"i32"> => atomic.load(at(field));
const readAddress = (field: "stage" | "end" | "calls"): Expr<"i32"> => atomic.loadAddress(at(field));

type Complete = FunctionRef<Record<never, never>, "i32">;

/** Counts a tile as done. The last one of a stage opens the next stage, or ends the list. */
function emitComplete(module: ModuleBuilder): Complete {
  return module.value("complete", {}, "i32", (f) => {
    const result = f.local("i32");
    const stage = f.local("i32");
    // Read before this tile is counted. Afterwards another thread may open the next stage, whose number of tiles may
    // equal this thread's count.
    const tiles = f.let(read("tiles"));
    f.if(i32.eq(i32.add(atomic.add(at("done"), 1), 1), tiles), () => {
      f.atomicStore(at("tile"), i32.const(closed));
      const next = f.let(i64.shl(i64.fromI32U(i32.add(read("epoch"), 1)), i64.const(32)));
      f.set(stage, readAddress("stage"));
      f.if(i32.eqz(read("cancel")), () => {
        f.advance(stage, 4 * stageFields.count);
        f.atomicStoreAddress(at("stage"), stage);
      });
      f.if(
        i32.or(i32.eq(stage, readAddress("end")), read("cancel")),
        () => {
          // Last, because the next list may begin at once.
          f.drop(atomic.add(at("epoch"), 1));
          f.atomicStore(at("isRunning"), i32.const(0));
          f.drop(atomic.notify(at("epoch"), closed));
          f.setI32(result, stageResult.ended);
        },
        () => {
          f.atomicStoreAddress(at("calls"), i32.loadAddress(stage, 4 * stageFields.calls));
          for (const field of stageNumbers) f.atomicStore(at(field), i32.load(stage, 4 * stageFields[field]));
          f.atomicStore(at("done"), i32.const(0));
          f.atomicStore(at("tile"), next);
          f.if(i32.gtU(read("tiles"), 1), () => f.if(read("sleeping"), () => f.drop(atomic.notify(at("epoch"), closed))));
        },
      );
    });
    return result;
  });
}

function emitRunTiles(module: ModuleBuilder, complete: Complete): void {
  module.value("runTiles", { budget: "i32", spins: "i32", patience: "i32" }, "i32", (f, { budget, spins, patience }) => {
    const ticket = f.local("i64");
    const [tile, epoch, polls, begin, end, grain, call, link, result] = f.locals("i32", 9);
    f.block((exit) => {
      f.loop((again) => {
        f.brIf(exit, i32.eqz(read("isRunning")));
        f.set(ticket, atomic.load64(at("tile")));
        // After the ticket: a thread that takes a tile has read what its list's caller wrote.
        f.brIf(exit, i32.ltU(threadIndex, read("firstThread")));
        f.set(tile, i32.wrap(ticket));
        f.if(i32.geU(tile, read("tiles")), () => {
          f.set(epoch, i32.wrap(i64.shrU(ticket, i64.const(32))));
          f.set(polls, spins);
          f.loop((spin) => {
            f.brIf(again, i32.or(i32.ne(read("epoch"), epoch), i32.eqz(read("isRunning"))));
            f.advance(polls, -1);
            f.brIf(spin, i32.gtS(polls, 0));
          });
          f.setI32(result, stageResult.waited);
          f.brIf(exit, i32.eqz(patience));
          f.drop(atomic.add(at("sleeping"), 1));
          const nanoseconds = i64.mul(i64.fromI32S(patience), i64.const(1_000_000));
          const woken = f.let(i32.ne(atomic.wait(at("epoch"), epoch, nanoseconds), 2));
          f.drop(atomic.add(at("sleeping"), -1));
          f.brIf(exit, i32.eqz(woken));
          f.setI32(result, stageResult.idle);
          f.br(again);
        });
        f.set(call, readAddress("calls"));
        f.set(grain, read("grain"));
        f.set(begin, i32.mul(tile, grain));
        f.set(end, read("total"));
        f.set(call, i32.add(call, i32.mul(tile, read("callBytes"))));
        // The fields belong to the ticket's stage if the ticket is unchanged.
        f.brIf(again, i64.ne(atomic.exchangeIf64(at("tile"), ticket, i64.add(ticket, i64.const(1))), ticket));
        f.if(i32.eqz(read("cancel")), () => {
          f.set(end, i32.select(i32.ltU(i32.sub(end, begin), grain), end, i32.add(begin, grain)));
          f.loop((next) => {
            f.callThunk(i32.load(call), i32.add(call, slotBytes), begin, end);
            f.set(link, i32.load(call, 4));
            f.advance(call, link);
            f.brIf(next, link);
          });
        });
        f.set(result, f.invoke(complete, {}));
        f.brIf(exit, result);
        f.advance(budget, -1);
        f.brIf(again, budget);
        f.setI32(result, stageResult.budget);
      });
    });
    return result;
  });
}
