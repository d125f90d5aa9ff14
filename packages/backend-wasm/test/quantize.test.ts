import { createProgram } from "@centella/core";
import type { QuantizedType } from "@centella/core/backend";
import { dequantize, ggmlTypes, quantize } from "@centella/quant";
import { describe, expect, test, vi } from "vitest";
// ggml's bytes, as verified by the tests of @centella/quant.
import golden from "../../quant/test/fixtures/encoded.json" with { type: "json" };
import { wasm } from "../src/index.ts";
import { WasmMemory } from "../src/memory/wasmMemory.ts";
import { hostSteps } from "./shared.ts";

const types = Object.keys(golden.encoded) as QuantizedType[];

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

const ggmlValues = new Float32Array(decode(golden.values).buffer);

/** Pseudo-random numbers from -1 to 1. */
function noise(seed: number, count: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** Blocks of 256 that are difficult for searches: one range each, so that four in a row differ. */
const difficult = Float32Array.from(
  [
    noise(1, 256),
    new Float32Array(256),
    new Float32Array(256).fill(-0),
    new Float32Array(256).fill(0.7),
    new Float32Array(256).fill(-3.25),
    noise(2, 256).map((x) => x ** 9),
    noise(3, 256).map((x) => 1e-16 * x),
    noise(4, 256).map((x) => 1e-40 * x),
    noise(5, 256).map((x) => 1e30 * x),
    noise(6, 256).map((x) => Math.round(4 * x)),
    noise(7, 256).map((x) => x + 5),
    noise(8, 256).map((x) => x - 5),
    noise(9, 256).map((_, i) => (i % 97 === 5 ? -100 : 0)),
    noise(10, 256).map((x, i) => (i < 128 ? 0 : x)),
    noise(11, 256).map((x) => Math.sign(x)),
    noise(12, 256).map((x, i) => x * 2 ** -(i >> 3)),
    noise(13, 256).map((x) => Math.abs(x) * 1e-7),
    noise(14, 256).map((x, i) => (i === 255 ? 3e38 : x * 1e-38)),
    // One more than a multiple of four.
    noise(15, 256).map((x) => 0.02 * x),
  ].flatMap((block) => [...block]),
);

describe.each([{ relaxed: false, threads: 1 }, { threads: 2 }, { memory64: true, threads: 1 }])("with %o", (options) => {
  test.each(types)("%s has ggml's bytes, without a return to JavaScript", async (dtype) => {
    const record = vi.spyOn(WasmMemory.prototype, "record");
    const backend = await wasm(options).open();
    const made = async (values: Float32Array): Promise<Uint8Array> => {
      const program = createProgram();
      program.output("y", program.quantize(program.input("x", "f32", [values.length]), { dtype }));
      const plan = await backend.compile(program);
      return (await plan.run({ x: values }).y!.data()) as Uint8Array;
    };
    const { blockBytes } = ggmlTypes[dtype];
    const firstDifference = (got: Uint8Array, want: Uint8Array): string => {
      const at = want.findIndex((byte, i) => byte !== got[i]);
      return at < 0 ? "none" : `block ${Math.floor(at / blockBytes)}, byte ${at % blockBytes}: ${got[at]} instead of ${want[at]}`;
    };
    expect(firstDifference(await made(ggmlValues), decode(golden.encoded[dtype].plain))).toBe("none");
    expect(firstDifference(await made(difficult), quantize(dtype, difficult))).toBe("none");
    for (const blocks of [1, 2, 3, 5]) {
      const values = noise(20 + blocks, blocks * ggmlTypes[dtype].blockElements);
      expect(firstDifference(await made(values), quantize(dtype, values))).toBe("none");
    }

    // A value that is not finite affects only its own block.
    const { blockElements } = ggmlTypes[dtype];
    const spoilt = noise(30, 5 * blockElements);
    spoilt[blockElements + 7] = Number.NaN;
    spoilt[3 * blockElements + 3] = Number.NEGATIVE_INFINITY;
    const back = new Float32Array(spoilt.length);
    dequantize(dtype, await made(spoilt), back);
    expect([0, 1, 2, 3, 4].map((block) => Number.isNaN(back[block * blockElements]))).toEqual([false, true, false, true, false]);
    expect(hostSteps(record)).toBe(0);
    await backend.dispose();
  });
});
