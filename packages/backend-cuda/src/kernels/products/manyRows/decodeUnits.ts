import { elementAt } from "@centella/core/backend";
import { type F32, isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { type UnitFormat, unitRows } from "../../../weights/unitFormat.ts";
import { type Argument, type KernelCall, type Launch, launch, type Parameter, waitForEarlier } from "../../shared/kernel.ts";
import { lanes } from "../../shared/product.ts";
import { UnitRing } from "../ring.ts";
import { weightName } from "../segments.ts";
import { both, codeOffsets, type Lane, type LoadedUnit, loadUnit, type PerRow } from "../unitDecoder.ts";
import { type Columns, inResultOfTile, panelRows } from "./columns.ts";
import { panelDepth, panelRowBytes, panelsOf, pieceOffset } from "./panels.ts";

const warps = 8;

/** Slots of a warp's ring. */
const ringDepth = 4;

const stageBytes = unitRows * panelRowBytes;

/** Weights of codes are this many times larger in panels: f16 numbers of full precision from 4e-6 on, finite up to 4,096. */
export const codeScale: number = 2 ** 4;

/** Writes the weights of columns to panels, the products of results one after the other. A warp takes a unit at a time. */
export function decodeUnits(call: KernelCall, columns: Columns, panels: Parameter): Launch {
  const { results, products, perTile } = columns;
  const formats = [...new Set(results.flatMap((each) => each.products.map(({ units }) => units.format)))];
  const { units } = elementAt(elementAt(results, 0).products, 0).units;
  const rowTiles = panelRows(columns) / unitRows;
  const work: DecodeWork = { columns, units, total: rowTiles * products * units, rowTiles: perTile / unitRows };
  const args = Object.fromEntries<Argument>([
    ["panels", panels],
    ...results.flatMap((each, i) =>
      each.products.map(
        ({ product }, j) => [weightName(i, j), { kind: "input", index: product.input, dtype: product.weight.dtype }] as const,
      ),
    ),
  ]);
  const entry = `decodeUnits_${[...new Set(formats.map(({ dtype }) => dtype))].join("_")}`;
  const blocks = Math.min(call.gpu.multiprocessors, Math.ceil(work.total / warps));
  return launch(call, entry, { threads: warps * lanes, blocks, args, waitsInBody: true }, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const thread = k.thread();
    const lane = k.and(thread, lanes - 1);
    const place: Lane = { lane, row: k.shiftRight(lane, 2), part: k.and(lane, 3) };
    const warp = k.shiftRight(thread, 5);
    const first = k.mad(k.block(), warps, warp);
    const slotBytes = Math.max(...formats.map(({ bytes }) => bytes));
    const ring = new UnitRing(k, new DecodeCursor(k, work, first, blocks * warps), { depth: ringDepth, slotBytes, warp, warps });
    // Copies of weights are under way while earlier launches end, which may read the panels.
    waitForEarlier(scope, call);
    const stages = new PanelStages(k, place, warp, elementAt(formats, 0).width / panelDepth);
    const at = k.variable("u32", first);
    k.while(
      () => isBelow(k, at.get(), work.total),
      () => {
        const { rowTile, product, unit } = partsOf(k, work, at.get());
        const matrix = k.mad(product, panelsOf(units * elementAt(formats, 0).width), k.mul(unit, stages.count));
        const to = k.atBytes(k.pointer("panels", "u32"), k.mad(matrix, panelRows(columns), k.mul(rowTile, unitRows)), panelRowBytes);
        inFormat(k, work, formats, { rowTile, product }, (format) => {
          const loaded = ring.take((from) => loadUnit(k, format, from, place));
          stages.write(format, loaded, to, panelRows(columns));
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

/** Runs `body` for the format of a product's row tile. */
function inFormat(
  k: PtxEmitter,
  { columns, rowTiles }: DecodeWork,
  formats: readonly UnitFormat[],
  { rowTile, product }: Pick<Parts, "rowTile" | "product">,
  body: (format: UnitFormat) => void,
): void {
  if (formats.length === 1) {
    body(elementAt(formats, 0));
    return;
  }
  const number = k.variable("u32", 0);
  inResultOfTile(k, columns, k.add(k.quotient(rowTile, rowTiles), columns.first), ({ products }) => {
    for (const [j, { units }] of products.entries())
      number.set(
        j === 0
          ? formats.indexOf(units.format)
          : k.select(k.compare("eq", product, j), k.constant("u32", formats.indexOf(units.format)), number.get()),
      );
  });
  const from = (index: number): void => {
    const run = (): void => body(elementAt(formats, index));
    if (index === formats.length - 1) run();
    else k.if(k.compare("eq", number.get(), index), run, () => from(index + 1));
  };
  from(0);
}

/** Finds the units that a warp takes. Row tiles past a result's last one repeat it. */
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
    const { columns, total, units, rowTiles } = this.#work;
    k.if(isBelow(k, this.#at.get(), total), () => {
      const { rowTile, product, unit } = partsOf(k, this.#work, this.#at.get());
      const tile = k.add(k.quotient(rowTile, rowTiles), columns.first);
      inResultOfTile(k, columns, tile, ({ products }, index, own) => {
        const last = Math.ceil(elementAt(products, 0).units.rows / unitRows) - 1;
        const source = k.min(k.mad(own, rowTiles, k.remainder(rowTile, rowTiles)), last);
        const number = k.mad(source, units, unit);
        const from = (j: number): void => {
          const { bytes } = elementAt(products, j).units.format;
          const run = (): void => use(k.atBytes(k.pointer(weightName(index, j), "u32"), number, bytes), bytes);
          if (j === products.length - 1) run();
          else k.if(k.compare("eq", product, j), run, () => from(j + 1));
        };
        from(0);
      });
      this.#at.set(k.add(this.#at.get(), this.#step));
    });
  }
}

/** A warp's images of 16 rows of panels, which copies take to memory. */
class PanelStages {
  /** Panels of a unit. */
  readonly count: number;
  readonly #k: PtxEmitter;
  readonly #isFirstLane;
  readonly #stages: Shared<"u32">;
  /** Where the lane's four weights of row g go, for each 16 weights of a panel. */
  readonly #places: readonly Shared<"u32">[];

  constructor(k: PtxEmitter, { lane, row, part }: Lane, warp: U32, count: number) {
    this.count = count;
    this.#k = k;
    this.#isFirstLane = k.compare("eq", lane, 0);
    const stages = k.sharedMemory("u32", (warps * count * stageBytes) / 4, 128);
    this.#stages = k.sharedAtBytes(stages, k.mul(warp, count * stageBytes));
    const own = k.mad(row, panelRowBytes, k.shiftLeft(k.and(part, 1), 3));
    this.#places = [0, 1, 2, 3].map((chunk) =>
      k.sharedAtBytes(this.#stages, k.add(own, pieceOffset(k, row, k.add(k.shiftRight(part, 1), 2 * chunk)))),
    );
  }

  /** Decodes a unit, whose first panel goes to `to`. Panels have `rows` rows. */
  write(format: UnitFormat, loaded: LoadedUnit, to: Global<"u32">, rows: number): void {
    const k = this.#k;
    const decode = decoderOf(k, format, loaded);
    for (let panel = 0; panel < this.count; panel++) {
      // The copy from this stage is the oldest one.
      k.if(this.#isFirstLane, () => k.waitBulkReads(this.count - 1));
      k.syncWarp();
      for (let chunk = 0; chunk < 4; chunk++) {
        const words = decode(4 * panel + chunk);
        for (const high of [0, 1] as const)
          k.stVector("u32", elementAt(this.#places, chunk), words[high], (panel * stageBytes + 8 * high * panelRowBytes) / 4);
      }
      k.fenceAsyncProxy();
      k.syncWarp();
      k.if(this.#isFirstLane, () => {
        k.storeBulk(k.at("u32", to, (panel * rows * panelRowBytes) / 4), k.sharedAtBytes(this.#stages, panel * stageBytes), stageBytes);
        k.commitBulk();
      });
    }
  }

  finish(): void {
    this.#k.if(this.#isFirstLane, () => this.#k.waitBulkReads(0));
  }
}

/** A lane's four weights of rows g and g + 8 in a chunk of 16, two halves a word. */
function decoderOf(k: PtxEmitter, format: UnitFormat, loaded: LoadedUnit): (chunk: number) => readonly [readonly U32[], readonly U32[]] {
  const words = (chunk: number): readonly [readonly U32[], readonly U32[]] => {
    const [a, b, c, d] = loaded.fragment(chunk);
    return [
      [a, c],
      [b, d],
    ];
  };
  if (format.scales.kind === "none") return words;
  const { low, high } = codeOffsets(format);
  const { steps } = loaded;
  const stepScale = both((row) => (steps === undefined ? k.constant("f32", codeScale) : k.mul(steps.scale[row], codeScale)));
  const stepMinimum = both((row) => (steps?.minimum === undefined ? k.constant("f32", codeScale) : k.mul(steps.minimum[row], codeScale)));
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
