import type { PtxKernel } from "@centella/backend-cuda";
import { PtxBuilder } from "@centella/backend-cuda/ptx";
import type { CustomOp } from "@centella/core";

/** Side of the tiles that a block of threads loads to shared memory. */
const side = 16;

/**
 * The predecessor's tiled product, written with the public builder: each thread computes an element of `a [m, k] · b [k, n] -> y [m, n]`,
 * from tiles of 16 × 16 elements in shared memory. Extents are multiples of 16.
 */
export const tiledGemm: CustomOp = {
  name: "tiledGemm",
  inputs: ["a", "b"],
  defaults: {},
  infer: ([a, b]) => ({ dtype: "f32", shape: [a!.shape[0]!, b!.shape[1]!] }),
  reference([a, b], _params, y) {
    const [m, n] = y.spec.shape as readonly [number, number];
    const k = a!.data.length / m;
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) {
        let sum = 0;
        for (let i = 0; i < k; i++) sum += a!.data[row * k + i]! * b!.data[i * n + column]!;
        y.data[row * n + column] = sum;
      }
    }
  },
  ptx: {
    launch({ inputs: [a], output: { shape } }) {
      const [m, n] = shape as readonly [number, number];
      return tiledGemmPtx(m, n, a!.shape[1] as number);
    },
  },
};

/** The text of the kernel for a shape, and its launch. */
export function tiledGemmPtx(m: number, n: number, k: number): ReturnType<PtxKernel["launch"]> {
  const p = new PtxBuilder("tiledGemm", ["a", "b", "y", "dims"], side * side);
  const [left, right] = [p.sharedMemory("f32", side * side), p.sharedMemory("f32", side * side)];
  const thread = p.thread();
  const [row, column] = [p.shiftRight(thread, 4), p.and(thread, side - 1)];
  const [yRow, yColumn] = [p.mad(p.block("y"), side, row), p.mad(p.block(), side, column)];
  const from = p.at("f32", p.pointer("a", "f32"), p.mad(yRow, k, column));
  const rightMatrix = p.pointer("b", "f32");
  const leftRow = p.sharedAt("f32", left, p.mul(row, side));
  const rightColumn = p.sharedAt("f32", right, column);
  const sum = p.variable("f32", 0);
  p.forUniform(0, k, side, (start) => {
    p.st("f32", p.sharedAt("f32", left, thread), p.ld("f32", p.at("f32", from, start)));
    p.st("f32", p.sharedAt("f32", right, thread), p.ld("f32", p.at("f32", rightMatrix, p.mad(p.add(start, row), n, yColumn))));
    p.sync();
    p.forUniform(0, side, 1, (i) => {
      const below = p.sharedAt("f32", rightColumn, p.shiftLeft(i, 4));
      sum.accumulate(p.ld("f32", p.sharedAt("f32", leftRow, i)), p.ld("f32", below));
    });
    p.sync();
  });
  p.st("f32", p.at("f32", p.pointer("y", "f32"), p.mad(yRow, n, yColumn)), sum.get());
  return { ptx: p.text(), entry: p.entry, grid: [n / side, m / side, 1], block: [side * side, 1, 1] };
}
