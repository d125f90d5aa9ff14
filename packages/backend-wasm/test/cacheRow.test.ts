import { halfToFloat } from "@centella/quant";
import { expect, test } from "vitest";
import { copyRow } from "../src/kernels/shared/cacheRow.ts";
import { instantiate } from "./shared.ts";

const [from, to] = [1 << 14, 1 << 15];

test.each([128, 100, 14, 7, 3])("rows of %i f16: every half as f32, infinities, NaN and subnormals among others", (width) => {
  const { call, memory } = instantiate({ row: "i32", copy: "i32", width: "i32" }, (f, { row, copy, width: count }) => {
    copyRow(f, "f16", row, copy, count);
  });
  // A stride that is no divisor of 65,536, so that rows mix halves of all kinds, and rows without an infinity or a NaN besides.
  for (const stride of [1, 977]) {
    for (let start = 0; start < 65_536; start += width) {
      const halves = Uint16Array.from({ length: width }, (_, i) => ((start + i) * stride) & 0xffff);
      new Uint16Array(memory.buffer, from, width).set(halves);
      const copied = new Float32Array(memory.buffer, to, width + 1);
      copied[width] = 7;
      call(from, to, width);
      const wrong = halves.findIndex((half, i) => !Object.is(copied[i], halfToFloat(half)));
      expect(wrong, `half ${halves[wrong]} of the row from ${start}`).toBe(-1);
      expect(copied[width]).toBe(7);
    }
  }
});
