import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inspect, readGguf } from "../src/index.ts";
import { writeGguf } from "./writer.ts";

// Written and byte-swapped by llama.cpp's own gguf-py, see scripts/fixtures.py.
const fixture = (name: string): string => join(import.meta.dirname, "fixtures", name);

describe("big-endian files", () => {
  test.each([
    ["big.gguf", "little.gguf"],
    ["blocks-big.gguf", "blocks.gguf"],
  ])("%s reads as %s does", async (bigName, littleName) => {
    await using big = await readGguf(fixture(bigName));
    await using little = await readGguf(fixture(littleName));
    expect([big.byteOrder, little.byteOrder]).toEqual(["big", "little"]);
    expect([...big.metadata]).toEqual([...little.metadata]);
    expect(big.metadata.get("a.u64")).toBe(2n ** 60n + 1n);
    expect({ ...inspect(big), byteOrder: "little" }).toEqual(inspect(little));
    for (const { name, bytes } of little.tensors) {
      const want = await little.readTensor(name);
      const target = new Uint8Array(bytes - 1);
      await big.readTensorInto(name, target, { offset: 1 });
      expect(target, name).toEqual(want.slice(1));
      expect(await big.readTensor(name), name).toEqual(want);
      for (const [offset, length] of [
        [1, 4],
        [bytes - 3, 3],
        [5, 0],
      ] as const) {
        expect(await big.readTensor(name, { offset, length }), name).toEqual(want.subarray(offset, offset + length));
      }
      if (!name.includes("i32")) expect(await big.readTensorF32(name, { chunkBytes: 7 })).toEqual(await little.readTensorF32(name));
    }
  });

  test("the source's bytes stay unchanged", async () => {
    await using file = await readGguf(fixture("big.gguf"));
    const bytes = await file.source.read(0, file.source.size);
    // A Buffer, whose slice() is a view.
    const memory = await readGguf(Buffer.from(bytes));
    await memory.readTensor("t.f32");
    expect(Buffer.from(bytes).equals(await memory.source.read(0, memory.source.size))).toBe(true);
  });

  test("block types whose order is not settled are refused by name", async () => {
    const bytes = writeGguf({ version: 3, tensors: [{ name: "t", type: "q5_0", shape: [32] }] });
    // The header of a file with one tensor and no keys, its numbers turned by hand.
    for (const [at, width] of [
      [4, 4],
      [8, 8],
      [16, 8],
      [24, 8],
      [33, 4],
      [37, 8],
      [45, 4],
      [49, 8],
    ] as const)
      bytes.subarray(at, at + width).reverse();
    const file = await readGguf(bytes);
    expect(file.tensor("t").type).toBe("q5_0");
    await expect(file.readTensor("t")).rejects.toThrow(/^gguf: expected tensor 't' of a big-endian file .* got q5_0; quantise/);
  });
});
