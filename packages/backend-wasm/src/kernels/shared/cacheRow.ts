import {
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  i8x16,
  i16x8,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  type Params,
  v128,
} from "../../emit/index.ts";
import { loadHalves } from "../../formats/half.ts";
import { laneMask } from "../../matmul/lanes.ts";
import { memoryMap } from "../../memory/memoryMap.ts";
import type { Pointer } from "./attentionParts.ts";

/** Element types of a KV cache. */
export const cacheTypes = ["f32", "f16", "q8_0"] as const;

export type CacheType = (typeof cacheTypes)[number];

/** Copies `width` elements of a cache row as f32, zero-padded up to `end`, a multiple of 16 bytes. */
export function copyRow(f: FunctionBuilder, type: CacheType, row: Pointer, copy: Pointer, width: Pointer, end: Pointer): void {
  const [from, to, left] = [f.let(row), f.let(copy), f.let(width)];
  if (type === "q8_0") f.while(left, () => copyStep(f, type, from, to, left));
  else copyRest(f, from, to, left, type === "f32" ? 16 : 8, () => (type === "f32" ? f.let(v128.load(from)) : loadHalves(f, from)));
  f.while(i32.ltU(to, end), () => {
    f.store(to, v128.zero());
    f.advance(to, 16);
  });
}

/** Elements per {@link copyStep}. */
const stepElements = { f32: 16, f16: 16, q8_0: 32 } as const;

/**
 * Copies the next elements of a row and advances both pointers. Halves update `largest` with their largest magnitude,
 * because only finite ones are converted correctly.
 */
function copyStep(f: FunctionBuilder, type: CacheType, from: Pointer, to: Pointer, left: Pointer, largest?: Local<"v128">): void {
  if (type === "q8_0") {
    const d = f.let(f32x4.splat(f32.load(i32.add(i32.shl(i32.load16U(from), 2), memoryMap.halfTable))));
    for (let eight = 0; eight < 4; eight++) {
      const words = f.let(v128.load8x8S(from, 2 + 8 * eight));
      f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(words)), d), 32 * eight);
      f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(words)), d), 32 * eight + 16);
    }
  } else if (type === "f32") {
    for (let at = 0; at < 64; at += 16) f.store(to, v128.load(from, at), at);
  } else {
    for (let at = 0; at < 32; at += 16) {
      const halves = f.let(v128.load(from, at));
      const [low, high] = widenFinite(f, halves);
      f.store(to, low, 2 * at);
      f.store(to, high, 2 * at + 16);
      if (largest !== undefined) f.set(largest, i16x8.maxS(largest, v128.and(halves, f.splatBits(0x7fff7fff))));
    }
  }
  const elements = stepElements[type];
  f.advance(from, type === "q8_0" ? 34 : type === "f16" ? 2 * elements : 4 * elements);
  f.advance(to, 4 * elements);
  f.advance(left, -elements);
}

/** Copies the last elements of a row, four at a time, zero-padded. */
function copyRest(f: FunctionBuilder, from: Pointer, to: Pointer, left: Pointer, bytes: number, four: () => Local<"v128">): void {
  f.while(i32.gtS(left, 0), () => {
    const value = four();
    f.if(i32.ltS(left, 4), () => f.set(value, v128.and(value, laneMask(f, left))));
    f.store(to, value);
    f.advance(from, bytes);
    f.advance(to, 16);
    f.advance(left, -4);
  });
}

/**
 * Widens eight finite halves to f32. Upper and lower 16 bits are computed eight at a time, with the exponent off by
 * 112, and joined.
 */
function widenFinite(f: FunctionBuilder, halves: Local<"v128">): readonly [Local<"v128">, Local<"v128">] {
  const upper = f.let(v128.and(i16x8.shrS(halves, 3), f.splatBits(0x8fff8fff)));
  const lower = f.let(i16x8.shl(halves, 13));
  const joined = (first: number): Local<"v128"> => {
    const lanes = Array.from({ length: 4 }, (_, i) => 2 * (first + i)).flatMap((byte) => [byte, byte + 1, 16 + byte, 17 + byte]);
    return f.let(f32x4.mul(i8x16.shuffle(lower, upper, lanes), f.splat(2 ** 112)));
  };
  return [joined(0), joined(4)];
}

const touchSignature = {
  at: "i32",
  end: "i32",
  memory: "i32",
  slotBytes: "i32",
  bytes: "i32",
  table: "i32",
  blockSize: "i32",
  slots: "i32",
} as const;

/**
 * Emits `attention.touch`: prefetches `bytes` bytes of each position from `at` to `end` by reading one word per cache
 * line. Returns a value that depends on the reads. Independent loads keep the memory busy; loads between conversions
 * would not.
 */
export function emitTouch(module: ModuleBuilder): FunctionRef<typeof touchSignature, "i32"> {
  return module.value("attention.touch", touchSignature, "i32", (f, p) => {
    const { at } = p;
    const [slot, line, end, next, result] = f.locals("i32", 5);
    f.while(i32.ltS(at, p.end), () => {
      const block = f.let(i32.divU(at, p.blockSize));
      f.set(next, i32.mul(i32.add(block, 1), p.blockSize));
      f.set(next, i32.select(i32.ltS(next, p.end), next, p.end));
      f.set(slot, i32.add(i32.mul(i32.load(i32.add(p.table, i32.shl(block, 2))), p.blockSize), i32.remU(at, p.blockSize)));
      const row = f.let(i32.add(p.memory, i32.mul(slot, p.slotBytes)));
      f.while(i32.ltS(at, next), () => {
        f.if(i32.ltU(slot, p.slots), () => {
          f.set(line, row);
          f.set(end, i32.add(row, p.bytes));
          f.while(i32.ltU(line, end), () => {
            f.set(result, i32.or(result, i32.load(line)));
            f.advance(line, 64);
          });
        });
        f.set(row, i32.add(row, p.slotBytes));
        f.advance(slot, 1);
        f.advance(at, 1);
      });
    });
    return result;
  });
}

const gatherSignature = {
  from: "i32",
  at: "i32",
  end: "i32",
  to: "i32",
  rowBytes: "i32",
  memory: "i32",
  slotBytes: "i32",
  width: "i32",
  table: "i32",
  blockSize: "i32",
  slots: "i32",
  holes: "i32",
} as const;

/**
 * Emits `attention.gather.<type>`: copies `width` elements of each position from `at` to `end` to rows of f32 at `to`.
 * Positions without a slot become zeros and are added to the list at `holes`, relative to `from`; `holes` may be 0.
 */
export function emitGather(module: ModuleBuilder, type: CacheType): FunctionRef<typeof gatherSignature, undefined> {
  return module.function(`attention.gather.${type}`, gatherSignature, (f, p) => {
    const { at, to, holes } = p;
    const [run, inside, address, next] = f.locals("i32", 4);
    f.while(i32.ltS(at, p.end), () => {
      const block = f.let(i32.divU(at, p.blockSize));
      const slot = f.let(i32.add(i32.mul(i32.load(i32.add(p.table, i32.shl(block, 2))), p.blockSize), i32.remU(at, p.blockSize)));
      f.set(run, i32.mul(i32.add(block, 1), p.blockSize));
      f.set(run, i32.sub(i32.select(i32.ltS(run, p.end), run, p.end), at));
      f.set(inside, i32.sub(p.slots, slot));
      f.set(inside, i32.select(i32.ltS(inside, run), inside, run));
      f.set(inside, i32.select(i32.and(i32.geS(slot, 0), i32.gtS(inside, 0)), inside, 0));
      f.set(address, i32.add(p.memory, i32.mul(slot, p.slotBytes)));
      f.set(run, i32.sub(run, inside));
      f.set(at, i32.add(at, inside));
      copyWhole(f, type, p, address, inside);
      f.while(inside, () => {
        f.set(next, i32.add(to, p.rowBytes));
        copyRow(f, type, address, to, p.width, next);
        f.set(to, next);
        f.set(address, i32.add(address, p.slotBytes));
        f.advance(inside, -1);
      });
      f.while(run, () => {
        f.memoryFill(to, 0, p.rowBytes);
        f.set(to, i32.add(to, p.rowBytes));
        f.if(holes, () => {
          const count = f.let(i32.add(i32.load(holes), 1));
          f.store(i32.add(holes, i32.shl(count, 2)), i32.sub(at, p.from));
          f.store(holes, count);
        });
        f.advance(at, 1);
        f.advance(run, -1);
      });
    });
  });
}

/**
 * Copies `rows` rows and advances all pointers, which leaves `rows` at 0. Leaves it unchanged if a row is not a whole
 * number of steps, or if halves contain infinity or NaN.
 */
function copyWhole(f: FunctionBuilder, type: CacheType, p: Params<typeof gatherSignature>, address: Pointer, rows: Pointer): void {
  const { to, width } = p;
  f.if(i32.eqz(i32.or(i32.and(width, stepElements[type] - 1), i32.sub(p.rowBytes, i32.shl(width, 2)))), () => {
    const [left, count] = f.locals("i32", 2);
    const largest = f.let(v128.zero());
    f.set(count, rows);
    f.while(count, () => {
      const from = f.let(address);
      f.set(left, width);
      f.loop((again) => {
        copyStep(f, type, from, to, left, largest);
        f.brIf(again, left);
      });
      f.set(address, i32.add(address, p.slotBytes));
      f.advance(count, -1);
    });
    const isWrong = type === "f16" ? v128.anyTrue(i16x8.gtS(largest, f.splatBits(0x7bff7bff))) : i32.const(0);
    f.if(
      isWrong,
      () => {
        f.set(to, i32.sub(to, i32.mul(rows, p.rowBytes)));
        f.set(address, i32.sub(address, i32.mul(rows, p.slotBytes)));
      },
      () => f.setI32(rows, 0),
    );
  });
}
