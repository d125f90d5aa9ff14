import { halfToFloat } from "@centella/quant";
import { expect, test } from "vitest";
import { ModuleBuilder } from "../src/emit/index.ts";
import { copyRow, emitGather } from "../src/kernels/shared/cacheRow.ts";
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

test("whole rows of f16, found by a table: every half as f32, in runs of rows with and without an infinity or a NaN", () => {
  const [width, blockSize, slots] = [64, 32, 1024];
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  emitGather(module, "f16");
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const gather = exports["attention.gather.f16"] as (...args: number[]) => void;
  const [table, cache, tile] = [1 << 14, 1 << 15, 1 << 19];
  // Rows of the cache are twice as long as the part that is read.
  const halves = new Uint16Array(memory.buffer, cache, 2 * width * slots);
  for (let i = 0; i < 65_536; i++) halves[2 * width * Math.floor(i / width) + (i % width)] = i;
  const blocks = slots / blockSize;
  new Int32Array(memory.buffer, table, blocks).set(Array.from({ length: blocks }, (_, i) => blocks - 1 - i));
  for (let at = 0; at < slots; at += 64) {
    gather(0, at, at + 64, tile, 4 * width, cache, 4 * width, width, table, blockSize, slots, 0);
    const copied = new Float32Array(memory.buffer, tile, 64 * width);
    const wrong = copied.findIndex((value, i) => {
      const position = at + Math.floor(i / width);
      const slot = (blocks - 1 - Math.floor(position / blockSize)) * blockSize + (position % blockSize);
      return !Object.is(value, halfToFloat(slot * width + (i % width)));
    });
    expect(wrong, `of the tile from ${at}`).toBe(-1);
  }
});
