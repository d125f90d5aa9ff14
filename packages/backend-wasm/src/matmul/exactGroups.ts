import { f32, f32x4, i32, i32x4, type ModuleBuilder, threadIndex, type V128, v128 } from "../emit/index.ts";
import { groupRows, halves, InterleavedBlock } from "../formats/block.ts";
import type { BlockContext, GroupFormat } from "../formats/format.ts";
import { loadHalves } from "../formats/half.ts";
import { formatNames, formatOf } from "../formats/index.ts";
import { madd, type Target } from "../target.ts";
import { outer, rowPanels } from "./outer.ts";
import type { OuterRow } from "./outerRows.ts";
import type { OuterTile } from "./outerTiles.ts";

const { depth, tileColumns } = outer;

/** Bytes of a decoded panel: `depth` of k, eight rows of weights, f32. */
const panelBytes = 4 * depth * groupRows;

/** Four panels, or one and a tile. */
export const exactRoomBytes: number = rowPanels * panelBytes;

/**
 * Emits, per format, products of interleaved rows with exact activations: eight rows are decoded to a panel as the tiles of outerTiles.ts
 * read it, whose order of accumulation they share.
 *
 * `panel.<format>(w, to, blocks)`: decodes `blocks` blocks of a group to `[k, 8]`.
 *
 * `panel.row(from, to, k)`: takes one row out of a panel, from its first element on.
 *
 * `exact.<format>(w, a, y, n, groupBytes, k, yBytes, tokens, first, rooms, begin, end)`: over `k` elements from `w` on, adds the products of groups
 * `begin` to `end` with `tokens` packed rows of `a` to `y [tokens, n]`.
 *
 * `exactRows.<format>(w, a, y, rows, groupBytes, k, aBytes, yBytes, tokens, rooms)`: over all of k, for few tokens that are not packed.
 *
 * Each thread has a room of {@link exactRoomBytes}.
 */
export function emitExactGroups(
  module: ModuleBuilder,
  target: Target,
  { tile, row }: { readonly tile: OuterTile; readonly row: OuterRow },
): void {
  module.function("panel.row", { from: "i32", to: "i32", k: "i32" }, (f, { from, to, k }) => {
    f.while(k, () => {
      f.store(to, f32.load(from));
      f.advance(from, 4 * groupRows);
      f.advance(to, 4);
      f.advance(k, -1);
    });
  });
  for (const name of formatNames) {
    const format = formatOf(name);
    const { elements, bytes } = format;
    const panel = module.function(`panel.${name}`, { w: "i32", to: "i32", blocks: "i32" }, (f, { w, to, blocks }) => {
      f.while(blocks, () => {
        decodeBlock({ f, target, block: new InterleavedBlock(f, w, format.fields, loadHalves) }, format, (index, half, values) =>
          f.store(to, values, 4 * groupRows * index + 16 * half),
        );
        f.advance(w, groupRows * bytes);
        f.advance(to, 4 * groupRows * elements);
        f.advance(blocks, -1);
      });
    });
    const tiled = {
      w: "i32",
      a: "i32",
      y: "i32",
      n: "i32",
      groupBytes: "i32",
      k: "i32",
      yBytes: "i32",
      tokens: "i32",
      first: "i32",
      rooms: "i32",
      begin: "i32",
      end: "i32",
    } as const;
    module.function(`exact.${name}`, tiled, (f, { w, a, y, n, groupBytes, k, yBytes, tokens, first, rooms, begin, end }) => {
      const scratch = f.let(i32.add(rooms, i32.mul(threadIndex, exactRoomBytes)));
      const rows = f.let(i32.mul(end, groupRows));
      f.set(rows, i32.sub(i32.select(i32.ltU(n, rows), n, rows), i32.mul(begin, groupRows)));
      f.advance(w, i32.mul(begin, groupBytes));
      f.advance(y, i32.mul(begin, 4 * groupRows));
      const blocks = f.let(i32.divU(k, elements));
      const spill = f.let(i32.add(scratch, panelBytes));
      const columns = f.local("i32");
      f.while(rows, () => {
        f.call(panel, { w, to: scratch, blocks });
        f.set(columns, i32.select(i32.ltU(rows, tileColumns), rows, tileColumns));
        f.call(tile, { a, b: scratch, y, k, rowBytes: yBytes, rows: tokens, columns, first, spill });
        f.advance(w, groupBytes);
        f.advance(y, 4 * groupRows);
        f.set(rows, i32.sub(rows, columns));
      });
    });
    const few = {
      w: "i32",
      a: "i32",
      y: "i32",
      rows: "i32",
      groupBytes: "i32",
      k: "i32",
      aBytes: "i32",
      yBytes: "i32",
      tokens: "i32",
      rooms: "i32",
    } as const;
    module.function(`exactRows.${name}`, few, (f, { w, a, y, rows, groupBytes, k, aBytes, yBytes, tokens, rooms }) => {
      const scratch = f.let(i32.add(rooms, i32.mul(threadIndex, exactRoomBytes)));
      const [at, count, group, panelAt, left, x, to, token] = f.locals("i32", 8);
      const columns = f.local("i32");
      f.while(rows, () => {
        f.set(columns, i32.select(i32.ltU(rows, rowPanels * groupRows), rows, rowPanels * groupRows));
        f.set(at!, i32.const(0));
        f.while(i32.ltU(at!, k), () => {
          f.set(count!, i32.sub(k, at!));
          f.set(count!, i32.select(i32.ltU(count!, depth), count!, depth));
          f.set(group!, i32.add(w, i32.mul(i32.divU(at!, elements), groupRows * bytes)));
          f.set(panelAt!, scratch);
          f.set(left!, columns);
          f.while(left!, () => {
            f.call(panel, { w: group!, to: panelAt!, blocks: i32.divU(count!, elements) });
            f.advance(group!, groupBytes);
            f.advance(panelAt!, panelBytes);
            f.set(left!, i32.select(i32.gtU(left!, groupRows), i32.sub(left!, groupRows), 0));
          });
          f.set(x!, i32.add(a, i32.shl(at!, 2)));
          f.set(to!, y);
          f.set(token!, tokens);
          f.while(token!, () => {
            f.call(row, { x: x!, panels: scratch, panelBytes: i32.const(panelBytes), y: to!, k: count!, columns, first: i32.eqz(at!) });
            f.advance(x!, aBytes);
            f.advance(to!, yBytes);
            f.advance(token!, -1);
          });
          f.advance(at!, count!);
        });
        f.advance(w, i32.mul(groupBytes, rowPanels));
        f.advance(y, 4 * rowPanels * groupRows);
        f.set(rows, i32.sub(rows, columns));
      });
    });
  }
}

/** Decodes a block to exactly the f32 that ggml makes of it: per element, four rows at a time. */
function decodeBlock(context: BlockContext, format: GroupFormat, sink: (index: number, half: 0 | 1, values: V128) => void): void {
  const { f, target } = context;
  const { elements, runElements, unitOrder, largestCode, biasBits, hasRunScales = false } = format;
  const unitsPerRun = runElements / 4;
  for (const half of halves) {
    const scales = format.scales?.(context, half);
    const minima = format.minima?.bytes(context, half);
    const d = hasRunScales ? undefined : f.let(format.d(context, half, 0));
    const dmin = format.minima && f.let(format.minima.dmin(context, half));
    const m = format.m && f.let(format.m(context, half));
    for (let run = 0; run < elements / runElements; run++) {
      const byteOf = (words: readonly V128[], areSigned: boolean): V128 =>
        f32x4.fromI32x4(byteAt(words[run >> 2]!, run & 3, areSigned, f.splatBits(255)));
      const own = d ?? format.d(context, half, run);
      const scale = scales === undefined ? f.let(own) : f.let(f32x4.mul(own, byteOf(scales.words, scales.areSigned)));
      const offset = minima === undefined ? m : f.let(f32x4.neg(f32x4.mul(dmin!, byteOf(minima.words, false))));
      for (let place = 0; place < unitsPerRun; place++) {
        const unit = run * unitsPerRun + (unitOrder?.[place] ?? place);
        const codes = f.let(format.codes(context, unit, half));
        for (let byte = 0; byte < 4; byte++) {
          const code = byteAt(codes, byte, largestCode === undefined, f.splatBits(255));
          const value = f32x4.fromI32x4(biasBits === undefined ? code : i32x4.sub(code, f.splatBits(1 << biasBits)));
          // Codes times scales are exact, so that a fused multiply-add rounds as ggml's separate addition does.
          sink(4 * unit + byte, half, offset === undefined ? f32x4.mul(value, scale) : madd(target, value, scale, offset));
        }
      }
    }
  }
}

/** Byte `byte` of each i32. */
function byteAt(word: V128, byte: number, isSigned: boolean, mask: V128): V128 {
  if (isSigned) return i32x4.shrS(byte === 3 ? word : i32x4.shl(word, 24 - 8 * byte), 24);
  if (byte === 3) return i32x4.shrU(word, 24);
  return v128.and(byte === 0 ? word : i32x4.shrU(word, 8 * byte), mask);
}
