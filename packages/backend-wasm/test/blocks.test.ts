import { readFileSync } from "node:fs";
import { createProgram, type DType } from "@centella/core";
import { type BlockType, dequantize, ggmlTypes, isBlockType, isGgmlType, rowBytes } from "@centella/quant";
import { describe, expect, test, vi } from "vitest";
import { wasm } from "../src/index.ts";
import { WasmMemory } from "../src/memory/wasmMemory.ts";
import { hostSteps, sharedPath } from "./shared.ts";

const blockTypes = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is BlockType => isBlockType(type));

/** Blocks of random bytes, including infinities and NaN as scales; or ggml's blocks with the values that it decodes. */
function blocksOf(type: BlockType): { readonly name: string; readonly blocks: Uint8Array; readonly want: Float32Array }[] {
  const { blockElements } = ggmlTypes[type];
  const random = new Uint8Array(rowBytes(type, 67 * blockElements));
  let state = 12345;
  for (let i = 0; i < random.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    random[i] = state >>> 24;
  }
  const decoded = new Float32Array(67 * blockElements);
  dequantize(type, random, decoded);
  const file = sharedPath(`data/dequant/${type.toUpperCase()}.blocks`);
  const ggml = file === undefined ? [] : [{ name: "ggml's blocks", blocks: new Uint8Array(readFileSync(file)), want: valuesOf(file) }];
  return [{ name: "random bytes", blocks: random, want: decoded }, ...ggml];
}

function valuesOf(file: string): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(file.replace(/blocks$/, "f32"))).buffer);
}

/** Index of the first element with different bits. All NaNs count as equal. */
function firstDifference(got: Float32Array, want: Float32Array): number {
  return want.findIndex((value, i) => !Object.is(value, got[i]));
}

describe.each([{ relaxed: false, threads: 1 }, { threads: 2 }, { memory64: true, threads: 1 }])("with %o", (options) => {
  test.each(blockTypes)("%s is decoded and looked up bit for bit, without a return to JavaScript", async (type) => {
    const record = vi.spyOn(WasmMemory.prototype, "record");
    const backend = await wasm(options).open();
    for (const { name, blocks, want } of blocksOf(type)) {
      const n = want.length;
      const width = 256;
      const program = createProgram();
      const x = program.input("x", type as DType, [n]);
      program.output("y", program.dequantize(x));
      const plan = await backend.compile(program);
      const y = (await plan.run({ x: blocks }).y!.data()) as Float32Array;
      expect(`${name}: ${firstDifference(y, want)}`).toBe(`${name}: -1`);

      // A table that is an input keeps its rows as they are stored.
      const rows = Math.floor(n / width);
      const lookUp = createProgram();
      const table = lookUp.input("table", type as DType, [rows, width]);
      lookUp.output("y", lookUp.embedding(table, lookUp.input("ids", "i32", [4])));
      const ids = [rows - 1, -1, 0, rows];
      const rowsPlan = await backend.compile(lookUp);
      const inputs = { table: blocks.subarray(0, rowBytes(type, rows * width)), ids: Int32Array.from(ids) };
      const found = (await rowsPlan.run(inputs).y!.data()) as Float32Array;
      const expected = ids.flatMap((id) => Array.from({ length: width }, (_, i) => (id >= 0 && id < rows ? want[id * width + i]! : 0)));
      expect(firstDifference(found, Float32Array.from(expected))).toBe(-1);
    }
    expect(hostSteps(record)).toBe(0);
    await backend.dispose();
  });
});
