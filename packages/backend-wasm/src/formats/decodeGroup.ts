import { elementAt } from "@centella/core/backend";
import { f32, f32x4, i32x4, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";
import { madd, type Target } from "../target.ts";
import { groupRows, halves, InterleavedBlock } from "./block.ts";
import type { BlockContext, GroupFormat } from "./format.ts";
import { loadHalves } from "./half.ts";
import { formatNames, formatOf } from "./index.ts";

/** Parameters of `panel.<format>`. */
export const panelSignature = { w: "i32", to: "i32", blocks: "i32" } as const;

/**
 * Emits `panel.<format>(w, to, blocks)`, which decodes `blocks` blocks of a group of eight rows to `[k, 8]`, and
 * `panel.row(from, to, k)`, which extracts one row from its first element on.
 */
export function emitDecodeGroup(module: ModuleBuilder, target: Target): void {
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
    module.function(`panel.${name}`, panelSignature, (f, { w, to, blocks }) => {
      f.while(blocks, () => {
        decodeBlock({ f, target, block: new InterleavedBlock(f, w, format.fields, loadHalves) }, format, (index, half, values) =>
          f.store(to, values, 4 * groupRows * index + 16 * half),
        );
        f.advance(w, groupRows * bytes);
        f.advance(to, 4 * groupRows * elements);
        f.advance(blocks, -1);
      });
    });
  }
}

/** Decodes a block to exactly ggml's f32 values, element by element, four rows at a time. */
function decodeBlock(context: BlockContext, format: GroupFormat, sink: (index: number, half: 0 | 1, values: V128) => void): void {
  const { f, target } = context;
  const { elements, runElements, unitOrder, largestCode, biasBits, hasRunScales = false } = format;
  const unitsPerRun = runElements / 4;
  for (const half of halves) {
    const scales = format.scales?.(context, half);
    const minimumBytes = format.minima?.bytes(context, half);
    const d = hasRunScales ? undefined : f.let(format.d(context, half, 0));
    const minima = minimumBytes && format.minima && { ...minimumBytes, dmin: f.let(format.minima.dmin(context, half)) };
    const m = format.m && f.let(format.m(context, half));
    for (let run = 0; run < elements / runElements; run++) {
      const byteOf = (words: readonly V128[], areSigned: boolean): V128 =>
        f32x4.fromI32x4(byteAt(elementAt(words, run >> 2), run & 3, areSigned, f.splatBits(255)));
      const own = d ?? format.d(context, half, run);
      const scale = scales === undefined ? f.let(own) : f.let(f32x4.mul(own, byteOf(scales.words, scales.areSigned)));
      const offset = minima === undefined ? m : f.let(f32x4.neg(f32x4.mul(minima.dmin, byteOf(minima.words, false))));
      for (let place = 0; place < unitsPerRun; place++) {
        const unit = run * unitsPerRun + (unitOrder?.[place] ?? place);
        const codes = f.let(format.codes(context, unit, half));
        for (let byte = 0; byte < 4; byte++) {
          const code = byteAt(codes, byte, largestCode === undefined, f.splatBits(255));
          const value = f32x4.fromI32x4(biasBits === undefined ? code : i32x4.sub(code, f.splatBits(1 << biasBits)));
          // Codes times scales are exact, so a fused multiply-add rounds like ggml's separate addition.
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
