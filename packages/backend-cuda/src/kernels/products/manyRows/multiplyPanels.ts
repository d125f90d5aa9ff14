import { type Extent, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { Global, Reg, Shared } from "../../../ptx/types.ts";
import type { WarpgroupSums } from "../../../ptx/warpgroup.ts";
import { lanes, warpgroupLanes } from "../../shared/gpu.ts";
import { type KernelCall, type Launch, launch, type Scope, waitForEarlier } from "../../shared/kernel.ts";
import type { UnitResult } from "../segments.ts";
import { type Columns, panelRows, tileWidth } from "./columns.ts";
import { panelDepth, panelRowBytes, tileRows } from "./panels.ts";
import { type RingPlace, StageRing, type StartCopy } from "./stageRing.ts";
import { TileResults } from "./tileResults.ts";
import { type PanelOperands, panelArgs, type Tiles, tilesOf } from "./tiles.ts";
import { readsUnits, rowUnitBytes, TileUnits } from "./tileUnits.ts";

/** Warpgroups that multiply, half of a tile's rows each. */
const multipliers = 2;
const ownRows: number = tileRows / multipliers;
/** Rows of a warpgroup's sums that a warp has. */
const warpRows = 16;
/** With a warpgroup that starts copies. */
const threads = (1 + multipliers) * warpgroupLanes;

/** Shared memory for stages. */
const ringBytes = 192 * 1024;

/** Registers of the threads that copy, and of those that multiply. */
const copyRegisters = 40;
const multiplyRegisters = 232;

/**
 * Multiplies activations in panels with columns' weights, in panels or in units that are rows of panels. Each block takes every n-th tile of all results. One warpgroup fills a ring of
 * stages with bulk copies, 64 places of the depth each, also while the others, which multiply, store the results of a tile.
 */
export function multiplyPanels(call: KernelCall, columns: Columns, operands: PanelOperands, lead: UnitResult["result"]["shape"]): Launch {
  const { type } = operands;
  const args = panelArgs(call, columns, operands);
  // Texts do not depend on the most rows of a run: with few of them, blocks may have no tile.
  const blocks = call.gpu.multiprocessors;
  const options = { threads, blocks, args, waitsInBody: true, form: [columns, operands] };
  return launch(call, `matmulMany_${type}`, options, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    waitForEarlier(scope, call);
    const kernel = new PanelKernel(scope, columns, operands, { blocks, rows: productOf(k, scope.extents(lead)) });
    k.if(
      k.compare("lt", k.thread(), warpgroupLanes),
      () => kernel.copy(),
      () => kernel.multiply(),
    );
  });
}

class PanelKernel {
  readonly #scope: Scope;
  readonly #columns: Columns;
  readonly #operands: PanelOperands;
  readonly #tiles: Tiles;
  readonly #results: TileResults;
  readonly #ring: StageRing;

  constructor(
    scope: Scope,
    columns: Columns,
    operands: PanelOperands,
    { blocks, rows }: { readonly blocks: number; readonly rows: Extent },
  ) {
    const { k } = scope;
    const bytes = (tileRows + tileWidth(columns)) * panelRowBytes;
    this.#scope = scope;
    this.#columns = columns;
    this.#operands = operands;
    this.#tiles = tilesOf(k, columns, operands.slots, { rows, blocks });
    this.#results = new TileResults(scope, columns, operands, rows);
    this.#ring = new StageRing(k, { stages: ringBytes / bytes, bytes, users: multipliers });
    k.if(k.compare("eq", k.thread(), 0), () => {
      this.#ring.init();
      k.fenceBarriers();
    });
    k.sync();
  }

  /** Fills the ring. */
  copy(): void {
    const { k } = this.#scope;
    k.setRegisters("decrease", copyRegisters);
    if (readsUnits(this.#columns)) k.if(k.compare("lt", k.thread(), lanes), () => this.#copyUnits());
    else k.if(k.compare("eq", k.thread(), 0), () => this.#copyPanels());
  }

  /** Fills the ring from panels, in one thread. */
  #copyPanels(): void {
    const { k } = this.#scope;
    const { panels } = this.#operands;
    const { products, perTile } = this.#columns;
    const rows = panelRows(this.#columns);
    const place = this.#ring.place();
    this.#tiles.forEach(({ row, tile }) => {
      const column = k.mul(k.sub(tile, this.#columns.first), perTile);
      k.for(0, panels, 1, (panel) => {
        this.#ring.fill(place, (stage, copy) => {
          copy(stage, this.#leftRows(panel, row), tileRows * panelRowBytes);
          for (let j = 0; j < products; j++) {
            const from = k.mad(k.add(panel, j * panels), rows, column);
            const to = k.sharedAtBytes<"u32">(stage, (tileRows + j * perTile) * panelRowBytes);
            copy(to, k.atBytes(k.pointer("b", "u32"), from, panelRowBytes), perTile * panelRowBytes);
          }
        });
      });
    });
  }

  /** Fills the ring from units, in one warp: each lane copies the units of a row tile. */
  #copyUnits(): void {
    const { k } = this.#scope;
    const { panels } = this.#operands;
    const { products } = this.#columns;
    const place = this.#ring.place();
    const units = new TileUnits(k, this.#columns);
    const lane = k.thread();
    const isFirst = k.compare("eq", lane, 0);
    const [product, number] = [k.quotient(lane, units.perProduct), k.remainder(lane, units.perProduct)];
    const hasUnits = k.compare("lt", lane, products * units.perProduct);
    const own = k.variable("u64", 0);
    this.#tiles.forEach(({ row, tile }) => {
      units.enter(tile);
      for (let j = 0; j < products; j++) {
        const enter = (): void => own.set(units.at(j, number, 0) as string as Reg<"u64">);
        if (products === 1) enter();
        else k.if(k.compare("eq", product, j), enter);
      }
      k.for(0, panels, 1, (panel) => {
        const fill = (stage: Shared<"u32">, copy: StartCopy): void => {
          k.if(isFirst, () => copy(stage, this.#leftRows(panel, row), tileRows * panelRowBytes));
          k.if(hasUnits, () => {
            const to = k.sharedAtBytes<"u32">(stage, k.mad(lane, rowUnitBytes, k.constant("u32", tileRows * panelRowBytes)));
            copy(to, k.atBytes(own.get() as string as Global<"u32">, panel, rowUnitBytes), rowUnitBytes);
          });
        };
        this.#ring.fill(place, fill, isFirst);
      });
    });
  }

  /** Rows of activations' panel from row `row` on. */
  #leftRows(panel: U32, row: U32): Global<"u32"> {
    const { k } = this.#scope;
    return k.atBytes(k.pointer("a", "u32"), k.mad(panel, this.#tiles.allRows, row), panelRowBytes);
  }

  /** Multiplies what the ring brings with the warpgroup's rows of each tile of the block, and stores the results. */
  multiply(): void {
    const { k } = this.#scope;
    k.setRegisters("increase", multiplyRegisters);
    const sums = k.warpgroupSums(tileWidth(this.#columns));
    const place = this.#ring.place();
    const first = k.mul(k.sub(k.shiftRight(k.thread(), Math.log2(warpgroupLanes)), 1), ownRows);
    const warp = k.mul(k.and(k.shiftRight(k.thread(), 5), 3), warpRows);
    const own = { columns: this.#columns.perTile, get: (index: number) => sums.get(index) };
    this.#tiles.forEach(({ row, tile }) => {
      const rows = this.#results.rowsFrom(k.add(row, k.add(first, warp)));
      this.#multiplyTile(sums, place, first);
      this.#results.store(own, rows, tile);
    });
  }

  /** Multiplies a tile's rows from `first` on. */
  #multiplyTile(sums: WarpgroupSums, place: RingPlace, first: U32): void {
    const { k } = this.#scope;
    const { type, panels } = this.#operands;
    const previous = k.variable("u32", 0);
    const isFirst = k.compare("eq", k.and(k.thread(), warpgroupLanes - 1), 0);
    const left = k.mul(first, panelRowBytes);
    k.for(0, panels, 1, (panel) => {
      const { stage, number } = this.#ring.wait(place);
      const own = k.sharedAtBytes<"u32">(stage, left);
      k.fenceProducts();
      for (let step = 0; step < panelDepth / 16; step++) {
        const adds = step === 0 ? k.compare("ne", panel, 0) : k.compare("ge", panel, 0);
        const [a, b] = [k.sharedAtBytes(own, 32 * step), k.sharedAtBytes(stage, tileRows * panelRowBytes + 32 * step)];
        k.multiplyWarpgroup(type, sums, k.matrixDescriptor(a), k.matrixDescriptor(b), { adds });
      }
      k.commitProducts();
      // The products of this stage stay under way.
      k.waitProducts(1);
      k.if(k.and(isFirst, k.compare("ne", panel, 0)), () => this.#ring.release(previous.get()));
      previous.set(number);
    });
    k.waitProducts(0);
    k.if(isFirst, () => this.#ring.release(previous.get()));
  }
}
