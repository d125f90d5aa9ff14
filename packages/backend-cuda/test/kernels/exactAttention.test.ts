import { createProgram } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

/** Tokens, and elements of a query, key or value of the only head. */
const size = 16;

const scale = 1 / Math.sqrt(size);

/** A matrix `[size, size]` of multiples of 0.1 around 0, which repeat after `period` elements. */
function sawtooth(period: number): Float32Array {
  return Float32Array.from({ length: size * size }, (_, i) => ((i % period) - (period - 1) / 2) * 0.1);
}

/** The attention of all tokens to all tokens, computed in f64. */
function expectedOf(q: Float32Array, keys: Float32Array, values: Float32Array): readonly number[] {
  const range = Array.from({ length: size }, (_, i) => i);
  const sum = (terms: readonly number[]): number => terms.reduce((a, b) => a + b);
  return range.flatMap((t) => {
    const weights = range.map((j) => Math.exp(scale * sum(range.map((i) => q[t * size + i]! * keys[j * size + i]!))));
    return range.map((i) => sum(range.map((j) => weights[j]! * values[j * size + i]!)) / sum(weights));
  });
}

// The data of trueno-gpu's example simple_attention_cuda, which reports a largest difference of 2.98e-8 from a computation in f32.
test.each([[[8, 0]], [[8, 6]], [[9, 0]], [[10, 0]]] as const)(
  "attention of 16 x 16 in f32 differs by at most 3e-8 from one in f64, on %j",
  async (capability) => {
    const [q, keys, values] = [sawtooth(17), sawtooth(13), sawtooth(11)];
    const rows = Array.from({ length: size }, (_, j) => [keys, values].flatMap((each) => [...each.subarray(j * size, (j + 1) * size)]));
    const program = createProgram();
    const y = program.attention(
      program.input("q", "f32", [size, 1, size]),
      program.constant(Float32Array.from(rows.flat()), "f32", [size, 1, 2 * size]),
      program.input("positions", "i32", [size]),
      program.input("seqOf", "i32", [size]),
      program.input("blockTable", "i32", [1, 1]),
      program.input("seqLens", "i32", [1]),
      { scale, blockSize: size, causal: false },
    );
    program.output("y", y);
    const backend = new CudaBackend(new InterpretedDriver(capability));
    const plan = await backend.compile(program);
    const positions = Int32Array.from({ length: size }, (_, i) => i);
    const [seqOf, blockTable, seqLens] = [new Int32Array(size), new Int32Array(1), Int32Array.of(size)];
    const got = await plan.run({ q, positions, seqOf, blockTable, seqLens }).y!.data();
    const differences = expectedOf(q, keys, values).map((value, i) => Math.abs(value - got[i]!));
    expect(differences).toHaveLength(got.length);
    expect(Math.max(...differences)).toBeLessThanOrEqual(3e-8);
    await backend.dispose();
  },
);
