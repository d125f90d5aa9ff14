import { halfToFloat } from "@centella/quant";
import { expect, test } from "vitest";
import { copyRow } from "../src/kernels/shared/cacheRow.ts";
import { instantiate } from "./shared.ts";

const [from, to] = [1 << 14, 1 << 15];

test.each([128, 100, 14, 7, 3])(
  "rows of %i f16: every half as f32, infinities, NaN and subnormals among others, and zeros behind them",
  (width) => {
    const { call, memory } = instantiate({ row: "i32", copy: "i32", width: "i32", end: "i32" }, (f, { row, copy, width: count, end }) => {
      copyRow(f, "f16", row, copy, count, end);
    });
    const padded = 16 * Math.ceil(width / 16);
    // A stride that is no divisor of 65,536, so that rows mix halves of all kinds, and rows without an infinity or a NaN besides.
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
