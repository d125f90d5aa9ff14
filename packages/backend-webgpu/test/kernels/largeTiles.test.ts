import { contentsOf } from "@centella/conformance";
import { createProgram, type DType, type Program, type Shape, type Value } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

/** Each has as few elements as the form needs that devices with many processors get. */
await describeOpened("forms for many results", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  /** Results of a program, and its operands as floats. */
  const computed = async (
    shapes: readonly Shape[],
    record: (program: Program, operands: readonly Value[]) => Value,
    dtypes: readonly DType[] = [],
  ) => {
    const program = createProgram();
    const dtypeOf = (i: number): DType => dtypes[i] ?? "f32";
    const operands = shapes.map((shape, i) => program.input(`x${i}`, dtypeOf(i), shape));
    program.output("y", record(program, operands));
    const contents = shapes.map((shape, i) => contentsOf({ dtype: dtypeOf(i), shape: shape.map(Number) }, 3 + i));
    const plan = await backend.compile(program);
    const { y } = plan.run(Object.fromEntries(contents.map(({ stored }, i) => [`x${i}`, stored])));
    const result = await y!.data();
    plan.dispose();
    return { data: contents.map(({ decoded }) => decoded), result };
  };

  for (const { extent, m, n, k, transposeA = false, transposeB = false, dtype = "f32" } of products()) {
    const name = `${k} deep by tiles of ${extent}², ${dtype}${transposeA ? ", transposeA" : ""}${transposeB ? ", transposeB" : ""}`;
    test(`products ${name}`, async () => {
      const shapes = [
        [2, ...(transposeA ? [k, m] : [m, k])],
        [1, ...(transposeB ? [n, k] : [k, n])],
      ];
      const { data, result } = await computed(shapes, (p, [a, b]) => p.matmul(a!, b!, { transposeA, transposeB }), ["f32", dtype]);
      const [a, b] = data;
      let largest = 0;
      for (let i = 0; i < 2 * m; i++) {
        const [batch, row] = [Math.floor(i / m), i % m];
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let d = 0; d < k; d++) {
            sum += a![batch * m * k + (transposeA ? d * m + row : row * k + d)]! * b![transposeB ? j * k + d : d * n + j]!;
          }
          largest = Math.max(largest, Math.abs(sum - result[i * n + j]!));
        }
      }
      expect(largest).toBeLessThan(1e-5);
    });
  }

  test.each([
    [1500, 1404],
    [508, 516],
  ])("products of %i by %i whose results have an epilogue", async (m, n) => {
    const { data, result } = await computed(
      [
        [m, 4],
        [4, n],
      ],
      (p, [a, b]) => p.relu(p.matmul(a!, b!)),
    );
    const [a, b] = data;
    let largest = 0;
    for (let at = 0; at < result.length; at++) {
      const [i, j] = [Math.floor(at / n), at % n];
      let sum = 0;
      for (let d = 0; d < 4; d++) sum += a![4 * i + d]! * b![d * n + j]!;
      largest = Math.max(largest, Math.abs(Math.max(sum, 0) - result[at]!));
    }
    expect(largest).toBeLessThan(1e-5);
  });

  for (const [share, channels, height, width] of [
    ["tiles", 16, 363, 363],
    ["lanes with 16 channels of 2 pixels", 16, 257, 259],
    ["lanes with 8 channels of 2 pixels", 8, 257, 259],
    ["lanes with 8 channels of a pixel", 8, 181, 183],
  ] as const) {
    test(`conv2d by ${share}`, async () => {
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

interface Product {
  readonly extent: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly dtype?: DType;
}

/** Products by tiles: of each extent, with depths of which the last step is full and partial, and with operands stored in each way. */
function products(): readonly Product[] {
  const sizes = [
    { extent: 128, m: 748, n: 1404 },
    { extent: 64, m: 508, n: 516 },
    { extent: 32, m: 36, n: 132 },
  ];
  const ways: readonly Omit<Product, "extent" | "m" | "n">[] = [
    { k: 16 },
    { k: 16, transposeB: true },
    { k: 20 },
    { k: 36, transposeB: true },
    { k: 36, transposeA: true, transposeB: true },
    // Neither operand is stored along the depth, which may be any then.
    { k: 19, transposeA: true },
    { k: 20, dtype: "f16" },
    { k: 40, dtype: "bf16", transposeB: true },
  ];
  // Operands of which vectors of four do not begin at multiples of 4 elements.
  const oddWays: typeof ways = [
    { k: 17 },
    { k: 33, transposeB: true },
    { k: 16, transposeA: true },
    { k: 21, dtype: "f16", transposeB: true },
    { k: 64, dtype: "q4_0", transposeB: true },
  ];
  return sizes.flatMap((size) => [
    ...ways.map((way) => ({ ...size, ...way })),
    ...oddWays.map((way) => ({ ...size, m: size.m - 1, n: size.n - 3, ...way })),
  ]);
}
