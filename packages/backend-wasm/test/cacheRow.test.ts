import { halfToFloat } from "@centella/quant";
import { expect, test } from "vitest";
import { ModuleBuilder } from "../src/emit/index.ts";
import { addressBytes, copyRow, emitGather, emitRows, splitScale } from "../src/kernels/attention/cacheRow.ts";
import { memoryMap } from "../src/memory/memoryMap.ts";
import { instantiate } from "./shared.ts";

const [from, to] = [1 << 14, 1 << 15];

test.each([128, 100, 14, 7, 3])(
  "rows of %i f16: every half as f32, including infinities, NaN and subnormals, followed by zeros",
  (width) => {
    const { call, memory } = instantiate({ row: "i32", copy: "i32", width: "i32", end: "i32" }, (f, { row, copy, width: count, end }) => {
      copyRow(f, "f16", row, copy, count, end);
    });
    const padded = 16 * Math.ceil(width / 16);
    // A stride that does not divide 65,536, so that rows mix all kinds of halves; plus rows without infinity or NaN.
    for (const stride of [1, 977]) {
      for (let start = 0; start < 65_536; start += width) {
        const halves = Uint16Array.from({ length: width }, (_, i) => ((start + i) * stride) & 0xffff);
        new Uint16Array(memory.buffer, from, width).set(halves);
        const copied = new Float32Array(memory.buffer, to, padded + 1).fill(7);
        call(from, to, width, to + 4 * padded);
        const wrong = halves.findIndex((half, i) => !Object.is(copied[i], halfToFloat(half)));
        expect(wrong, `half ${halves[wrong]} of the row from ${start}`).toBe(-1);
        expect(copied.subarray(width, padded).every((value) => Object.is(value, 0))).toBe(true);
        expect(copied[padded]).toBe(7);
      }
    }
  },
);

/** Emits `attention.rows` and `attention.gather.f16`, and lists the rows of all slots in the reversed order of blocks of 32. */
function gatherHalves(width: number, slots: number) {
  const blockSize = 32;
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  emitRows(module);
  emitGather(module, "f16");
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const functions = exports as Record<string, (...args: number[]) => void>;
  const [table, list, holes, cache, tile] = [1 << 14, 1 << 15, 3 << 14, 1 << 16, 1 << 19];
  const blocks = slots / blockSize;
  new Int32Array(memory.buffer, table, blocks).set(Array.from({ length: blocks }, (_, i) => blocks - 1 - i));
  // Rows of the cache are twice as long as the part that is read.
  const rowBytes = 4 * width;
  functions["attention.rows"]!(0, slots, cache, rowBytes, rowBytes, table, blockSize, slots, list, holes, tile);
  return {
    halves: new Uint16Array(memory.buffer, cache, 2 * width * slots),
    slotOf: (position: number) => (blocks - 1 - Math.floor(position / blockSize)) * blockSize + (position % blockSize),
    gather(at: number, count: number): Float32Array {
      functions["attention.gather.f16"]!(list + addressBytes * at, count, 0, tile, 4 * width, width);
      return new Float32Array(memory.buffer, tile, count * width);
    },
  };
}

test("whole rows of f16, found by a table: every half, even and odd ones apart, in tiles with and without an infinity or a NaN", () => {
  const [width, slots] = [64, 1024];
  const { halves, slotOf, gather } = gatherHalves(width, slots);
  for (let i = 0; i < 65_536; i++) halves[2 * width * Math.floor(i / width) + (i % width)] = i;
  for (let at = 0; at < slots; at += 64) {
    const wrong = gather(at, 64).findIndex((value, i) => {
      const element = (i % width) - (i % 8) + 2 * (i % 4) + (i % 8 < 4 ? 0 : 1);
      return !Object.is(value, Math.fround(halfToFloat(slotOf(at + Math.floor(i / width)) * width + element) * splitScale));
    });
    expect(wrong, `of the tile from ${at}`).toBe(-1);
  }
});

test("rows of f16 that are not whole steps: every half in order", () => {
  const [width, slots] = [20, 64];
  const { halves, slotOf, gather } = gatherHalves(width, slots);
  for (let i = 0; i < halves.length; i++) halves[i] = (i * 977) & 0xffff;
  const copied = gather(0, slots);
  const wrong = copied.findIndex((value, i) => {
    return !Object.is(value, halfToFloat(halves[2 * width * slotOf(Math.floor(i / width)) + (i % width)]!));
  });
  expect(wrong).toBe(-1);
});
