import { elementAt } from "@centella/core/backend";
import { type F32, isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { pieceOffset, rowPlace } from "../../../weights/halfRows.ts";
import { hasTilePower, isPlain, type UnitFormat, type UnitMatrix, unitRows } from "../../../weights/unitFormat.ts";
import { oneOf } from "../../shared/branches.ts";
import { hasBulkCopies, lanes } from "../../shared/gpu.ts";
import { type Argument, type KernelCall, type Launch, launch, type Parameter, waitForEarlier } from "../../shared/kernel.ts";
import { ringOf } from "../ring.ts";
import { weightName } from "../segments.ts";
import { both, codeOffsets, type Lane, type LoadedUnit, laneOf, loadUnit, type PerRow } from "../unitDecoder.ts";
import { type Columns, inResultOfTile, panelRows, weightArgs } from "./columns.ts";
import { panelDepth, panelRowBytes, panelsOf } from "./panels.ts";
import { tilePower } from "./tilePowers.ts";

const warps = 8;

/** Slots of a warp's ring. Copies of pieces have fewer, because not every device that needs them has the memory. */
const bulkDepth = 4;
const pieceDepth = 2;

const stageBytes = unitRows * panelRowBytes;

/**
 * Writes the weights of columns to panels, the products of results one after the other. A warp takes a unit at a time. Weights that have scales are
 * multiplied by the power of two of their row tile, see {@link tilePower}.
 */
export function decodeUnits(call: KernelCall, columns: Columns, panels: Parameter): Launch {
  const { results, products, perTile } = columns;
  const formats = [...new Set(results.flatMap((each) => each.products.map(({ units }) => units.format)))];
  const { units } = elementAt(elementAt(results, 0).products, 0).units;
  const rowTiles = panelRows(columns) / unitRows;
  const work: DecodeWork = { columns, units, total: rowTiles * products * units, rowTiles: perTile / unitRows };
  const args = Object.fromEntries<Argument>([["panels", panels], ...weightArgs(results)]);
  const entry = `decodeUnits_${[...new Set(formats.map(({ dtype }) => dtype))].join("_")}`;
  const blocks = Math.min(call.gpu.multiprocessors, Math.ceil(work.total / warps));
  return launch(call, entry, { threads: warps * lanes, blocks, args, waitsInBody: true, form: [columns] }, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const thread = k.thread();
    const place = laneOf(k, thread, formats);
    const warp = k.shiftRight(thread, 5);
    const first = k.mad(k.block(), warps, warp);
    const slotBytes = Math.max(...formats.map(({ bytes }) => bytes));
    const isBulk = hasBulkCopies(call.gpu);
    const cursor = new DecodeCursor(k, work, first, blocks * warps);
    const ring = ringOf(k, call.gpu, cursor, { depth: isBulk ? bulkDepth : pieceDepth, slotBytes, warp, warps });
    // Copies of weights are under way while earlier launches end, which may read the panels.
    waitForEarlier(scope, call);
    const stages = new PanelStages(k, place, warp, { count: elementAt(formats, 0).width / panelDepth, isBulk });
    const at = k.variable("u32", first);
    k.while(
      () => isBelow(k, at.get(), work.total),
      () => {
        const { rowTile, product, unit } = partsOf(k, work, at.get());
        const matrix = k.mad(product, panelsOf(units * elementAt(formats, 0).width), k.mul(unit, stages.count));
        const to = k.atBytes(k.pointer("panels", "u32"), k.mad(matrix, panelRows(columns), k.mul(rowTile, unitRows)), panelRowBytes);
        inFormat(k, work, formats, { rowTile, product }, (format, power) => {
          const loaded = ring.take((from) => loadUnit(k, format, from, place));
          stages.write(decoderOf(k, format, loaded, power), to, panelRows(columns));
        });
        at.set(k.add(at.get(), blocks * warps));
      },
    );
    stages.finish();
  });
}

/** The units of a launch, in the order in which warps take them. */
interface DecodeWork {
  readonly columns: Columns;
  /** Units of a row tile. */
  readonly units: number;
  readonly total: number;
  /** Row tiles of a tile of columns. */
  readonly rowTiles: number;
}

interface Parts {
  /** Row tile of the panels. */
  readonly rowTile: U32;
  readonly product: U32;
  readonly unit: U32;
}

function partsOf(k: PtxEmitter, { units, columns }: DecodeWork, number: U32): Parts {
  const rest = k.quotient(number, units);
  return { unit: k.remainder(number, units), product: k.remainder(rest, columns.products), rowTile: k.quotient(rest, columns.products) };
}

/** Runs `body` for the format of a product's row tile, with the tile's power of two. */
function inFormat(
  k: PtxEmitter,
  work: DecodeWork,
  formats: readonly UnitFormat[],
  parts: Omit<Parts, "unit">,
  body: (format: UnitFormat, power: F32) => void,
): void {
  const [number, power] = [k.variable("u32", 0), k.variable("f32", 1)];
  inWeight(k, work, parts, (name, units, tile) => {
    if (formats.length > 1) number.set(formats.indexOf(units.format));
    if (hasTilePower(units.format)) power.set(tilePower(k, name, units, tile).factor());
  });
  oneOf(k, number.get(), formats, (format) => body(format, power.get()));
}

/** Runs `body` for the weight of a product's row tile, with the tile's number in the weight. Row tiles past the last one repeat it. */
function inWeight(
  k: PtxEmitter,
  { columns, rowTiles }: DecodeWork,
  { rowTile, product }: Omit<Parts, "unit">,
  body: (name: string, units: UnitMatrix, tile: U32) => void,
): void {
  inResultOfTile(k, columns, k.add(k.quotient(rowTile, rowTiles), columns.first), ({ products }, index, own) => {
    const tile = k.min(k.mad(own, rowTiles, k.remainder(rowTile, rowTiles)), elementAt(products, 0).units.tiles - 1);
    oneOf(k, product, products, ({ units }, j) => body(weightName(index, j), units, tile));
  });
}

/** Finds the units that a warp takes. */
class DecodeCursor {
  readonly #k: PtxEmitter;
  readonly #work: DecodeWork;
  readonly #step: number;
  readonly #at: Var<"u32">;

  constructor(k: PtxEmitter, work: DecodeWork, first: U32, step: number) {
    this.#k = k;
    this.#work = work;
    this.#step = step;
    this.#at = k.variable("u32", first);
  }

  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void {
    const k = this.#k;
    const { total, units } = this.#work;
    k.if(isBelow(k, this.#at.get(), total), () => {
      const { unit, ...parts } = partsOf(k, this.#work, this.#at.get());
      inWeight(k, this.#work, parts, (name, { format: { bytes } }, tile) =>
        use(k.atBytes(k.pointer(name, "u32"), k.mad(tile, units, unit), bytes), bytes),
      );
      this.#at.set(k.add(this.#at.get(), this.#step));
    });
  }
}

/** A warp's images of 16 rows of panels, which bulk copies or its lanes take to memory. */
class PanelStages {
  /** Panels of a unit. */
  readonly count: number;
  readonly #k: PtxEmitter;
  readonly #isBulk: boolean;
  readonly #lane: U32;
  readonly #isFirstLane;
  readonly #stages: Shared<"u32">;
  /** Where the lane's four weights of rows g and g + 8 go, for each 16 weights of a panel. */
  readonly #places: readonly (readonly [Shared<"u32">, Shared<"u32">])[];

  constructor(
    k: PtxEmitter,
    { lane, row, part }: Lane,
    warp: U32,
    { count, isBulk }: { readonly count: number; readonly isBulk: boolean },
  ) {
    const bytes = (isBulk ? count : 1) * stageBytes;
    this.count = count;
    this.#k = k;
    this.#isBulk = isBulk;
    this.#lane = lane;
    this.#isFirstLane = k.compare("eq", lane, 0);
    const stages = k.sharedMemory("u32", (warps * bytes) / 4, 128);
    this.#stages = k.sharedAtBytes(stages, k.mul(warp, bytes));
    const first = rowPlace(k, row);
    const rows = [first, k.add(first, 4)] as const;
    const half = k.shiftLeft(k.and(part, 1), 3);
    this.#places = [0, 1, 2, 3].map((chunk) => {
      const piece = k.add(k.shiftRight(part, 1), 2 * chunk);
      return both((high) =>
        k.sharedAtBytes(this.#stages, k.add(k.mad(rows[high], panelRowBytes, half), pieceOffset(k, rows[high], piece))),
      );
    });
  }

  /** Decodes a unit, whose first panel goes to `to`. Panels have `rows` rows. */
  write(decode: Decoder, to: Global<"u32">, rows: number): void {
    for (let panel = 0; panel < this.count; panel++) {
      const target = this.#k.at("u32", to, (panel * rows * panelRowBytes) / 4);
      const store = (stage: number): void => this.#stage((chunk) => decode(4 * panel + chunk), stage);
      if (this.#isBulk) this.#copy(store, target, panel);
      else this.#store(store, target);
    }
  }

  finish(): void {
    if (this.#isBulk) this.#k.if(this.#isFirstLane, () => this.#k.waitBulkReads(0));
  }

  #copy(fill: (stage: number) => void, to: Global<"u32">, stage: number): void {
    const k = this.#k;
    // The copy from this stage is the oldest one.
    k.if(this.#isFirstLane, () => k.waitBulkReads(this.count - 1));
    k.syncWarp();
    fill(stage);
    k.fenceAsyncProxy();
    k.syncWarp();
    k.if(this.#isFirstLane, () => {
      k.storeBulk(to, k.sharedAtBytes(this.#stages, stage * stageBytes), stageBytes);
      k.commitBulk();
    });
  }

  #store(fill: (stage: number) => void, to: Global<"u32">): void {
    const k = this.#k;
    fill(0);
    k.syncWarp();
    const own = k.shiftLeft(this.#lane, 4);
    const [from, target] = [k.sharedAtBytes<"u32">(this.#stages, own), k.atBytes(to, own, 1)];
    for (let at = 0; at < stageBytes / 4; at += 4 * lanes) k.stVector("u32", target, k.ldVector("u32", from, at), at);
    k.syncWarp();
  }

  #stage(decode: Decoder, stage: number): void {
    for (let chunk = 0; chunk < 4; chunk++) {
      const words = decode(chunk);
      for (const high of [0, 1] as const)
        this.#k.stVector("u32", elementAt(this.#places, chunk)[high], words[high], (stage * stageBytes) / 4);
    }
  }
}

/** A lane's four weights of rows g and g + 8 in a chunk of 16, two halves a word. */
type Decoder = (chunk: number) => readonly [readonly U32[], readonly U32[]];

/** Decodes a unit. Weights with scales become `power` times larger. */
function decoderOf(k: PtxEmitter, format: UnitFormat, loaded: LoadedUnit, power: F32): Decoder {
  const words: Decoder = (chunk) => {
    const [a, b, c, d] = loaded.fragment(chunk);
    return [
      [a, c],
      [b, d],
    ];
  };
  if (isPlain(format)) return words;
  const { low, high } = codeOffsets(format);
  const { steps } = loaded;
  const stepScale = both((row) => (steps === undefined ? power : k.mul(steps.scale[row], power)));
  const stepMinimum = both((row) => (steps?.minimum === undefined ? power : k.mul(steps.minimum[row], power)));
  const groups = new Map<number, readonly [GroupScale, GroupScale]>();
  const groupOf = (group: number): readonly [GroupScale, GroupScale] => {
    const scales: PerRow = loaded.scale(group);
    const minima = loaded.minimum?.(group);
    return both((row) => {
      const scale = k.mul(scales[row], stepScale[row]);
      const minimum = minima === undefined ? undefined : k.mul(minima[row], stepMinimum[row]);
      // Exact: offsets are small multiples of powers of two.
      return { scale, offsets: [k.mul(scale, -low), k.mul(scale, -high)], minimum };
    });
  };
  return (chunk) => {
    const number = Math.floor((16 * chunk) / format.groupSize);
    const found = groups.get(number) ?? groupOf(number);
    groups.set(number, found);
    const codes = words(chunk);
    return both((row) => {
      const { scale, offsets, minimum } = found[row];
      return codes[row].map((word, pair) => {
        const weightOf = (code: F32): F32 => {
          const weight = k.fma(code, scale, elementAt(offsets, pair));
          return minimum === undefined ? weight : k.add(weight, minimum);
        };
        const [first, second] = k.halfPair(word);
        return k.roundPair("f16", weightOf(first), weightOf(second));
      });
    });
  };
}

/** How codes with their offsets become weights. */
interface GroupScale {
  readonly scale: F32;
  /** What takes away the offsets of the first two weights of each four, and of the other two. */
  readonly offsets: readonly [F32, F32];
  readonly minimum: F32 | undefined;
}
