import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { Lane } from "../products/unitDecoder.ts";
import { lanes } from "../shared/gpu.ts";
import type { NamedArguments, Scope } from "../shared/kernel.ts";
import { type AttentionSizes, tileRows } from "./problem.ts";
import type { QueryTile } from "./queryTile.ts";
import { noMaximum } from "./softmax.ts";

/** Parts that a thread reads together, and neighbouring elements of a row that it merges. */
const partsInFlight = 16;
const perThread = 2;

/** Memory for what `items * parts` blocks hand to the last one of their item. */
export function partArgs({ blockHeads, valueWidth }: AttentionSizes, items: number, parts: number): NamedArguments {
  if (parts === 1) return {};
  const rows = items * parts * blockHeads;
  return {
    partValues: { kind: "scratch", bytes: 4 * rows * valueWidth },
    partSums: { kind: "scratch", bytes: 8 * rows, offset: 4 * rows * valueWidth },
  };
}

/** The softmax over some of the positions, and neighbouring elements of the sum of their values. */
interface Part {
  readonly maximum: F32;
  readonly total: F32;
  readonly values: readonly F32[];
}

interface Layout {
  readonly sizes: AttentionSizes;
  readonly warps: number;
  /** Blocks of an item. */
  readonly parts: number;
  readonly items: number;
  readonly hasSinks: boolean;
}

interface Item {
  /** Blocks of the item that have positions. */
  readonly activeParts: U32;
  readonly firstHead: U32;
  /** Number of its heads. */
  readonly rowCount: U32;
  /** Number of its first row among those of the output. */
  readonly outputRow: U32;
  /** First element of the output's rows that the item has. Default: the first one. */
  readonly valueFirst: U32 | undefined;
}

/** Merges the parts of a block's warps, and those of the blocks of an item, and stores the item's rows. */
export class PartMerge {
  readonly #scope: Scope;
  readonly #layout: Layout;
  readonly #item: Item;

  constructor(scope: Scope, layout: Layout, item: Item) {
    this.#scope = scope;
    this.#layout = layout;
    this.#item = item;
  }

  run(tile: QueryTile, warp: U32, lane: Lane): void {
    const { k } = this.#scope;
    const { parts } = this.#layout;
    const warpPart = this.#share(tile, warp, lane);
    const storeAll = (): void => this.#forEachPart((row, d) => this.#store(row, d, warpPart(row, d)));
    if (parts === 1) storeAll();
    else k.ifUniform(k.compare("eq", this.#item.activeParts, 1), storeAll, () => this.#handOver(warpPart));
  }

  /** Puts the warps' parts into shared memory. Returns the block's part. */
  #share(tile: QueryTile, warp: U32, lane: Lane): (row: U32, d: U32) => Part {
    const { k } = this.#scope;
    const { warps, sizes } = this.#layout;
    const { blockHeads, valueWidth } = sizes;
    const maxima = k.sharedMemory("f32", warps * tileRows);
    const totals = k.sharedMemory("f32", warps * tileRows);
    const values = k.sharedMemory("f32", warps * blockHeads * valueWidth);
    for (let r = 0; r < tile.rowCount; r++) {
      const row = k.add(lane.row, (r * tileRows) / 2);
      const { maximum, total } = tile.finish(r);
      k.if(k.compare("eq", lane.part, 0), () => {
        const at = k.mad(warp, tileRows, row);
        k.st("f32", k.sharedAt("f32", maxima, at), maximum);
        k.st("f32", k.sharedAt("f32", totals, at), total);
      });
      k.if(k.compare("lt", row, blockHeads), () => {
        const start = k.mul(k.mad(warp, blockHeads, row), valueWidth);
        for (const output of tile.outputs(r)) {
          const to = k.sharedAt("f32", values, k.add(start, output.first));
          const width = Math.min(4, output.values.length);
          for (let i = 0; i < output.values.length; i += width) k.stVector("f32", to, output.values.slice(i, i + width), i);
        }
      });
    }
    k.sync();
    return (row, d) => {
      const at = k.mad(row, valueWidth, d);
      return this.#merged(
        Array.from({ length: warps }, (_, i) => ({
          maximum: k.ld("f32", k.sharedAt("f32", maxima, row), i * tileRows),
          total: k.ld("f32", k.sharedAt("f32", totals, row), i * tileRows),
          values: k.ldVector("f32", k.sharedAt("f32", values, at), i * blockHeads * valueWidth, perThread),
        })),
      );
    };
  }

  #merged(parts: readonly Part[]): Part {
    const { k } = this.#scope;
    const maximum = parts.map((part) => part.maximum).reduce((a, b) => k.max(a, b));
    const zero = k.constant("f32", 0);
    let total = zero;
    let values: readonly F32[] = Array.from({ length: perThread }, () => zero);
    for (const part of parts) {
      const kept = k.exp2(k.sub(part.maximum, maximum));
      total = k.fma(part.total, kept, total);
      values = values.map((value, i) => k.fma(elementAt(part.values, i), kept, value));
    }
    return { maximum, total, values };
  }

  /** Runs `body` for the item's rows and places in them, from which on a thread merges elements. */
  #forEachPart(body: (row: U32, d: U32) => void): void {
    const { k } = this.#scope;
    const { warps, sizes } = this.#layout;
    const places = sizes.valueWidth / perThread;
    k.for(k.thread(), k.mul(this.#item.rowCount, places), warps * lanes, (i) => {
      body(k.quotient(i, places), k.mul(k.remainder(i, places), perThread));
    });
  }

  /** Stores elements of the output: 0 if no position was seen. */
  #store(row: U32, d: U32, { maximum, total, values }: Part): void {
    const { k } = this.#scope;
    const { sizes, hasSinks } = this.#layout;
    const { firstHead, outputRow, valueFirst } = this.#item;
    const within = valueFirst === undefined ? d : k.add(d, valueFirst);
    const at = k.mad(k.add(outputRow, row), sizes.valueWidth * sizes.valueBlocks, within);
    let [all, sums] = [total, values];
    if (hasSinks) {
      const sink = k.mul(k.load("sinks", k.add(firstHead, row)), Math.LOG2E);
      const largest = k.max(maximum, sink);
      const kept = k.exp2(k.sub(maximum, largest));
      all = k.fma(total, kept, k.exp2(k.sub(sink, largest)));
      sums = values.map((value) => k.mul(value, kept));
    }
    const share = k.select(k.compare("eq", all, 0), k.constant("f32", 0), k.div(k.constant("f32", 1), all));
    const stored = sums.map((sum) => k.mul(sum, share));
    k.stVector("f32", k.at("f32", k.pointer("y", "f32"), at), stored);
  }

  /** Writes the block's part to memory. The last block of the item merges them all. */
  #handOver(blockPart: (row: U32, d: U32) => Part): void {
    const { k } = this.#scope;
    const { sizes, parts } = this.#layout;
    const { activeParts } = this.#item;
    const item = k.quotient(k.block(), parts);
    const rowOf = (part: U32, row: U32): U32 => k.mad(k.mad(item, parts, part), sizes.blockHeads, row);
    const own = k.remainder(k.block(), parts);
    const [partValues, partSums] = [k.pointer("partValues", "f32"), k.pointer("partSums", "f32")];
    this.#forEachPart((row, d) => {
      const { maximum, total, values } = blockPart(row, d);
      const to = rowOf(own, row);
      k.stVector("f32", k.at("f32", partValues, k.mad(to, sizes.valueWidth, d)), values);
      k.if(k.compare("eq", d, 0), () => k.stVector("f32", k.atBytes(partSums, to, 8), [maximum, total]));
    });
    k.sync();
    k.ifUniform(this.#isLast(item), () =>
      this.#forEachPart((row, d) => {
        const [maximum, total] = [k.variable("f32", noMaximum), k.variable("f32", 0)];
        const values = Array.from({ length: perThread }, () => k.variable("f32", 0));
        k.for(0, activeParts, Math.min(partsInFlight, parts), (first) => {
          const read = Array.from({ length: Math.min(partsInFlight, parts) }, (_, i): Part => {
            const part = k.add(first, i);
            const from = rowOf(k.min(part, k.sub(activeParts, 1)), row);
            const [most, sum] = k.ldVector("f32", k.atBytes<"f32">(partSums, from, 8), 0, 2) as [F32, F32];
            const isPart = k.compare("lt", part, activeParts);
            const elements = k.ldVector("f32", k.at("f32", partValues, k.mad(from, sizes.valueWidth, d)), 0, perThread);
            // A part that is read again has no weight.
            return { maximum: k.select(isPart, most, noMaximum), total: k.select(isPart, sum, 0), values: elements };
          });
          const before = { maximum: maximum.get(), total: total.get(), values: values.map((value) => value.get()) };
          const merged = this.#merged([before, ...read]);
          maximum.set(merged.maximum);
          total.set(merged.total);
          for (const [i, value] of merged.values.entries()) elementAt(values, i).set(value);
        });
        this.#store(row, d, { maximum: maximum.get(), total: total.get(), values: values.map((value) => value.get()) });
      }),
    );
  }

  /** Whether the block is the last of its item to come here. The counter starts again at 0. */
  #isLast(item: U32): ReturnType<Scope["k"]["compare"]> {
    const { k } = this.#scope;
    const { activeParts } = this.#item;
    const counter = k.at("u32", k.counters(this.#layout.items), item);
    const found: Shared<"u32"> = k.sharedMemory("u32", 1);
    k.if(k.compare("eq", k.thread(), 0), () => {
      const isLast = k.compare("eq", k.add(k.countUp(counter), 1), activeParts);
      k.st("u32", found, k.select(isLast, k.constant("u32", 1), 0));
      k.if(isLast, () => k.st("u32", counter, k.constant("u32", 0)));
    });
    k.sync();
    return k.compare("ne", k.ld("u32", found), 0);
  }
}
