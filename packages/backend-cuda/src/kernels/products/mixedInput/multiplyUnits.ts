import { elementAt } from "@centella/core/backend";
import { asValue, type F32, isBelow, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { LeftFragment } from "../../../ptx/matrix.ts";
import type { Shared } from "../../../ptx/types.ts";
import type { MatrixDescriptor, WarpgroupSums } from "../../../ptx/warpgroup.ts";
import type { Var } from "../../../ptx/writer.ts";
import { hasTilePower, isPlain, type UnitFormat } from "../../../weights/unitFormat.ts";
import { oneOf } from "../../shared/branches.ts";
import { warpgroupLanes } from "../../shared/gpu.ts";
import {
  type Argument,
  epilogueArgs,
  type KernelCall,
  type Launch,
  launch,
  type Parameter,
  type Scope,
  waitForEarlier,
} from "../../shared/kernel.ts";
import { inResultOfTile, weightArgs } from "../manyRows/columns.ts";
import { panelBytes, panelDepth, panelRowBytes } from "../manyRows/panels.ts";
import { type RingPlace, StageRing } from "../manyRows/stageRing.ts";
import { tilePower } from "../manyRows/tilePowers.ts";
import { UnitRing } from "../ring.ts";
import type { UnitResult } from "../segments.ts";
import { type Lane, laneOf, loadUnit } from "../unitDecoder.ts";
import { isShared } from "./chooseSplit.ts";
import { TileFinisher } from "./finishTile.ts";
import { halfDecoder } from "./halfDecoder.ts";
import { PartialSums } from "./partialSums.ts";
import { type MixedSizes, warpgroupTiles } from "./sizes.ts";
import { type Range, type TilePart, TileSplit } from "./tileSplit.ts";
import { inWarpTile, UnitSource, type WarpPlace, warpPlace } from "./unitSource.ts";

/** Chunks of 16 weights that are decoded and multiplied together: while tensor cores have those, the next ones are decoded. */
const chunksTogether = 2;
const chunkDepth = 16;

/** Registers of the threads that copy, and of those that multiply, by the number of warpgroups: where there are not enough for all. */
const registers: Readonly<Record<number, { readonly copy: number; readonly multiply: number }>> = {
  2: { copy: 32, multiply: 232 },
  4: { copy: 24, multiply: 112 },
};

/**
 * Rows of activations of a tile from which on slots are filled again after the products of their units, if these are not decoded: with f16 weights of
 * 8192 x 8192, 1 % faster for 64 rows, but 2 % slower for 32.
 */
const minLateRows = 64;

interface MixedPlaces {
  /** Activations in panels, whose numbers have the order of fragments, and the factors of their rows' results. */
  readonly a: Parameter;
  readonly factors: Parameter;
  /** Memory for {@link PartialSums}. */
  readonly partials: Parameter;
}

/**
 * Multiplies weights in units with activations in panels. Each warpgroup takes 64 rows of weights: its warps copy units to rings of their own,
 * and decode them to the registers that are the left matrix of products. One more warpgroup copies stages of activations, the right matrix.
 */
export function multiplyUnits(call: KernelCall, sizes: MixedSizes, places: MixedPlaces, lead: UnitResult["result"]["shape"]): Launch {
  const { columns, warpgroups, blocks, perTile } = sizes;
  const { a, factors, partials } = places;
  const args = Object.fromEntries<Argument>([
    ...Object.entries({ a, factors, ...(isShared(sizes, sizes.copies) && { partials }) }),
    ...weightArgs(columns.results),
    ...columns.results.flatMap(({ result }, i) => [[`y${i}`, result.y] as const, ...Object.entries(epilogueArgs(call, result.epilogue))]),
  ]);
  const multipliers = warpgroups * warpgroupLanes;
  const types = [...new Set(sizes.formats.map(({ dtype }) => dtype))].join("_");
  const entry = `matmulMixed${perTile}_${types}`;
  const options = { threads: multipliers + warpgroupLanes, blocks, args, waitsInBody: true, form: [sizes, columns] };
  return launch(call, entry, options, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const rows = asValue(k, productOf(k, scope.extents(lead)));
    const kernel = new MixedKernel(scope, sizes, rows);
    const budget = registers[warpgroups];
    k.if(
      k.compare("lt", k.thread(), multipliers),
      () => {
        if (budget !== undefined) k.setRegisters("increase", budget.multiply);
        kernel.multiply(() => waitForEarlier(scope, call));
      },
      () => {
        if (budget !== undefined) k.setRegisters("decrease", budget.copy);
        waitForEarlier(scope, call);
        kernel.copy();
      },
    );
  });
}

/** A warp's units, and the lane's place that reads them. */
interface WarpUnits {
  readonly ring: UnitRing;
  readonly lane: Lane;
}

class MixedKernel {
  readonly #scope: Scope;
  readonly #sizes: MixedSizes;
  readonly #rows: U32;
  readonly #rowTiles: U32;
  readonly #split: TileSplit;
  readonly #range: Range;
  readonly #ring: StageRing;

  constructor(scope: Scope, sizes: MixedSizes, rows: U32) {
    const { k } = scope;
    const { stages, stagePanels, perTile, warpgroups } = sizes;
    this.#scope = scope;
    this.#sizes = sizes;
    this.#rows = rows;
    this.#rowTiles = k.shiftRight(k.add(rows, perTile - 1), Math.log2(perTile));
    this.#split = new TileSplit(k, sizes, this.#rowTiles);
    this.#range = this.#split.rangeOf(k.block());
    this.#ring = new StageRing(k, { stages, bytes: stagePanels * panelBytes(perTile, 1), users: warpgroups });
    k.if(k.compare("eq", k.thread(), 0), () => {
      this.#ring.init();
      k.fenceBarriers();
    });
    k.sync();
  }

  /** Fills the ring of stages, in one thread. */
  copy(): void {
    const { k } = this.#scope;
    const { perTile, copyPanels, stagePanels } = this.#sizes;
    const bytes = panelBytes(perTile, 1);
    const allRows = k.mul(this.#rowTiles, perTile);
    k.if(k.compare("eq", k.and(k.thread(), warpgroupLanes - 1), 0), () => {
      const place = this.#ring.place();
      this.#forEachPart(({ rowTile, unit, count }) => {
        const firstRow = k.mul(rowTile, perTile);
        const end = k.mul(k.add(unit, count), copyPanels);
        k.for(k.mul(unit, copyPanels), end, stagePanels, (panel) => {
          this.#ring.fill(place, (stage, copy) => {
            for (let i = 0; i < stagePanels; i++) {
              const from = k.atBytes(k.pointer("a", "u32"), k.mad(k.add(panel, i), allRows, firstRow), panelRowBytes);
              copy(k.sharedAtBytes(stage, i * bytes), from, bytes);
            }
          });
        });
      });
    });
  }

  /** Multiplies the block's parts of tiles. `wait` waits for earlier launches: copies of weights begin before. */
  multiply(wait: () => void): void {
    const { k } = this.#scope;
    const { warpgroups, depth, slotBytes, perTile } = this.#sizes;
    const warp = k.shiftRight(k.thread(), 5);
    const place = warpPlace(k, this.#sizes, warp);
    const source = new UnitSource(k, this.#sizes, this.#split, place, this.#range);
    const ring = new UnitRing(k, source, { depth, slotBytes, warp, warps: warpgroups * warpgroupTiles });
    const units = { ring, lane: laneOf(k, k.thread(), this.#sizes.formats) };
    const power = k.variable("f32", 1);
    this.#loadPower(power, this.#range.first, place);
    wait();
    const stages = this.#ring.place();
    const sums = k.warpgroupSums(perTile);
    const partials = isShared(this.#sizes, this.#sizes.copies) ? new PartialSums(k, this.#sizes, this.#split) : undefined;
    const finisher = new TileFinisher(this.#scope, this.#sizes, this.#rows, place);
    this.#forEachPart((part, next) => {
      const own = power.get();
      this.#loadPower(power, next, place);
      this.#inFormat(part, (format) => this.#multiplyPart(format, own, part, { units, stages, sums }));
      const finish = (): void => finisher.finish(sums, part, own);
      if (partials === undefined) finish();
      else {
        const isDone = k.variable("u32", 1);
        k.if(k.compare("ne", part.count, this.#sizes.copies), () => {
          const isMerged = partials.merge(sums, part, place.warpgroup);
          isDone.set(k.select(isMerged, k.constant("u32", 1), 0));
        });
        k.if(k.compare("ne", isDone.get(), 0), finish);
      }
    });
  }

  /** Runs `body` for the parts of tiles of the block. `next` is the item after the part. */
  #forEachPart(body: (part: TilePart, next: U32) => void): void {
    const { k } = this.#scope;
    const item = k.variable("u32", this.#range.first);
    k.while(
      () => isBelow(k, item.get(), this.#range.end),
      () => {
        const part = this.#split.at(item.get(), this.#range.end);
        const next = k.add(item.get(), part.count);
        body(part, next);
        item.set(next);
      },
    );
  }

  /** Starts to load the power of two of the warp's weights in the tile of an item, if the block has the item. Weights do not wait for launches. */
  #loadPower(power: Var<"f32">, item: U32, place: WarpPlace): void {
    const { k } = this.#scope;
    const { formats, columns } = this.#sizes;
    if (!formats.some(hasTilePower)) return;
    k.if(isBelow(k, item, this.#range.end), () => {
      const { column } = this.#split.at(item, this.#range.end);
      inResultOfTile(k, columns, column, (result, index, own) =>
        inWarpTile(k, this.#sizes, place, result, { index, own }, ({ units, name, number }) =>
          power.set(tilePower(k, name, units, number).factor()),
        ),
      );
    });
  }

  /** Runs `body` for the format of a tile. */
  #inFormat({ column }: TilePart, body: (format: UnitFormat) => void): void {
    const { k } = this.#scope;
    const { formats, columns } = this.#sizes;
    const number = k.variable("u32", 0);
    if (formats.length > 1)
      inResultOfTile(k, columns, column, ({ products }) => number.set(formats.indexOf(elementAt(products, 0).units.format)));
    oneOf(k, number, formats, body);
  }

  /** Multiplies a part of a tile. All products are over at the end. */
  #multiplyPart(
    format: UnitFormat,
    power: F32,
    { count }: TilePart,
    { units, stages, sums }: { readonly units: WarpUnits; readonly stages: RingPlace; readonly sums: WarpgroupSums },
  ): void {
    const { k } = this.#scope;
    const { copyPanels, stagePanels } = this.#sizes;
    const released = k.variable("u32", 0);
    for (let i = 0; i < sums.registers.length; i++) sums.set(i, k.constant("f32", 0));
    k.for(0, count, 1, (unit) => {
      const { decode, refill } = this.#take(format, power, units);
      for (let panel = 0; panel < copyPanels; panel += stagePanels) {
        const { stage, number } = this.#ring.wait(stages);
        const chunks = (stagePanels * panelDepth) / chunkDepth;
        const operands = this.#operands(stage);
        for (let chunk = 0; chunk < chunks; chunk += chunksTogether) {
          const numbers = Array.from({ length: chunksTogether }, (_, i) => chunk + i);
          const left = numbers.map((i) => decode((panel * panelDepth) / chunkDepth + i));
          this.#multiplyChunks(sums, left, numbers.map(operands));
          // The products of the stage before are over.
          if (chunk === 0) {
            const release = (): void => this.#release(released.get());
            if (panel === 0) k.if(k.compare("ne", unit, 0), release);
            else release();
          }
        }
        released.set(number);
      }
      if (this.#refillsLate(format)) refill();
    });
    k.waitProducts(0);
    this.#release(released.get());
  }

  #refillsLate(format: UnitFormat): boolean {
    return isPlain(format) && this.#sizes.perTile >= minLateRows;
  }

  /** Loads the next units, and returns a function that decodes a chunk of them. `refill` is for units that are filled again late. */
  #take(format: UnitFormat, power: F32, { ring, lane }: WarpUnits): { readonly decode: (chunk: number) => LeftFragment; refill(): void } {
    const { k } = this.#scope;
    const { result: units, refill } = ring.read((from) => {
      // Products under way read the registers of weights that are not decoded.
      if (isPlain(format)) k.waitProducts(0);
      return Array.from({ length: this.#sizes.together }, (_, i) => loadUnit(k, format, k.sharedAtBytes(from, i * format.bytes), lane));
    });
    if (!this.#refillsLate(format)) refill();
    const decoders = units.map((loaded) => halfDecoder(k, format, loaded, power));
    const chunks = format.width / chunkDepth;
    return { decode: (chunk) => elementAt(decoders, Math.floor(chunk / chunks))(chunk % chunks), refill };
  }

  /** The right matrices of a stage's chunks. */
  #operands(stage: Shared<"u32">): (chunk: number) => MatrixDescriptor {
    const bytes = panelBytes(this.#sizes.perTile, 1);
    const { k } = this.#scope;
    const start = k.uniform(stage);
    const perPanel = panelDepth / chunkDepth;
    return (chunk) => k.matrixDescriptor(start, { offset: Math.floor(chunk / perPanel) * bytes + (chunk % perPanel) * 2 * chunkDepth });
  }

  /** Starts products, and waits for those before. */
  #multiplyChunks(sums: WarpgroupSums, left: readonly LeftFragment[], right: readonly MatrixDescriptor[]): void {
    const { k } = this.#scope;
    k.fenceProducts();
    for (const [i, fragment] of left.entries()) k.multiplyWarpgroup(this.#sizes.type, sums, fragment, elementAt(right, i));
    k.commitProducts();
    k.waitProducts(1);
  }

  /** Hands a stage back. */
  #release(stage: U32): void {
    const { k } = this.#scope;
    k.if(k.compare("eq", k.and(k.thread(), warpgroupLanes - 1), 0), () => this.#ring.release(stage));
  }
}
