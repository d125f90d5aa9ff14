import { uniform } from "@centella/conformance";
import { createProgram, type Program, type Shape, type Value } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "./describeOpened.ts";
import { openGuarded } from "./openBackend.ts";

/** Each has as few elements as the form needs that devices with many processors get. */
await describeOpened("forms for many results", openGuarded(), (backend) => {
  afterAll(() => backend.dispose());

  const computed = async (shapes: readonly Shape[], record: (program: Program, operands: readonly Value[]) => Value) => {
    const program = createProgram();
    const operands = shapes.map((shape, i) => program.input(`x${i}`, "f32", shape));
    program.output("y", record(program, operands));
    const data = shapes.map((shape, i) =>
      uniform(
        3 + i,
        shape.reduce<number>((count, dim) => count * Number(dim), 1),
      ),
    );
    const plan = await backend.compile(program);
    const { y } = plan.run(Object.fromEntries(data.map((values, i) => [`x${i}`, values])));
    const result = await y!.data();
    plan.dispose();
    return { data, result };
  };

  const k = 16;
  for (const [extent, m, n] of [
    [128, 1500, 1404],
    [64, 510, 516],
    [32, 33, 132],
  ] as const) {
    for (const transposeB of [false, true]) {
      test(`products by tiles of ${extent}²${transposeB ? ", transposed" : ""}`, { timeout: 60_000 }, async () => {
        const right = transposeB ? [1, n, k] : [1, k, n];
        const { data, result } = await computed([[1, m, k], right], (program, [a, b]) => program.matmul(a!, b!, { transposeB }));
        const [a, b] = data;
        let largest = 0;
        for (let i = 0; i < m; i++) {
          for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let d = 0; d < k; d++) sum += a![i * k + d]! * b![transposeB ? j * k + d : d * n + j]!;
            largest = Math.max(largest, Math.abs(sum - result[i * n + j]!));
          }
        }
        expect(largest).toBeLessThan(1e-5);
      });
    }
  }

  for (const [share, channels, height, width] of [
    ["tiles", 16, 363, 363],
    ["lanes with 16 channels of 2 pixels", 16, 257, 259],
    ["lanes with 8 channels of 2 pixels", 8, 257, 259],
    ["lanes with 8 channels of a pixel", 8, 181, 183],
  ] as const) {
    test(`conv2d by ${share}`, { timeout: 60_000 }, async () => {
      const { data, result } = await computed(
        [
          [1, 1, height, width],
          [channels, 1, 3, 2],
        ],
        (program, [x, w]) => program.conv2d(x!, w!, { padding: [1, 1] }),
      );
      const [x, w] = data;
      const columns = width + 1;
      let largest = 0;
      for (let at = 0; at < result.length; at++) {
        const [channel, row, column] = [Math.floor(at / columns / height), Math.floor(at / columns) % height, at % columns];
        let sum = 0;
        for (let i = 0; i < 3; i++) {
          for (let j = 0; j < 2; j++) {
            const [y, z] = [row + i - 1, column + j - 1];
            if (y >= 0 && z >= 0 && y < height && z < width) sum += x![y * width + z]! * w![channel * 6 + i * 2 + j]!;
          }
        }
        largest = Math.max(largest, Math.abs(sum - result[at]!));
      }
      expect(result.length).toBe(channels * height * columns);
      expect(largest).toBeLessThan(1e-5);
    });
  }
});
