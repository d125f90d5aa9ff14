import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type EditableSource, editMetadata, readGguf, type WritableEntry, writeGguf } from "../src/index.ts";
import { randomFrom } from "./faultyHub.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-edit-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "edit.gguf");
const fixture = (name: string): string => join(import.meta.dirname, "fixtures", name);
const name = (value: string): WritableEntry => ({ key: "general.name", type: "string", value });
const original = readFileSync(fixture("little.gguf"));
beforeEach(() => writeFileSync(path, original));

/** Bytes of the tensors, and the keys. */
async function rest(file: string): Promise<unknown> {
  await using opened = await readGguf(file);
  return [readFileSync(file).subarray(opened.dataOffset), [...opened.metadata.keys()], opened.tensors.map((tensor) => tensor.name)];
}

describe("editMetadata of a path", () => {
  test("numbers, and strings that fit, change in place", async () => {
    const { ino } = statSync(path);
    await editMetadata(path, { set: [{ key: "a.f32", type: "f32", value: 2 }, name("Eve")] });
    await using file = await readGguf(path);
    expect([file.metadata.get("a.f32"), file.metadata.get("general.name")]).toEqual([2, "Eve"]);
    expect(await rest(path)).toEqual(await rest(fixture("little.gguf")));
    // And back: the same bytes.
    await using before = await readGguf(fixture("little.gguf"));
    await editMetadata(path, { set: [...before.metadata] });
    expect(readFileSync(path).equals(original)).toBe(true);
    expect(statSync(path).ino).toBe(ino);
  });

  test("a header of another size moves the tensors, and a smaller one moves them back", async () => {
    await editMetadata(path, { set: [name("long ".repeat(2_000))] });
    await using longer = await readGguf(path);
    expect(longer.metadata.string("general.name")).toHaveLength(10_000);
    expect(await rest(path)).toEqual(await rest(fixture("little.gguf")));
    await using before = await readGguf(fixture("little.gguf"));
    await editMetadata(path, { set: [...before.metadata] });
    expect(readFileSync(path).equals(original)).toBe(true);
    await editMetadata(path, { remove: ["ids", "scores"] });
    await using fewer = await readGguf(path);
    expect(fewer.metadata.has("ids")).toBe(false);
    expect(readdirSync(folder)).toEqual(["edit.gguf"]);
  });

  test("big-endian too", async () => {
    writeFileSync(path, readFileSync(fixture("big.gguf")));
    await editMetadata(path, { set: [{ key: "a.i32", type: "i32", value: 77 }, name("long ".repeat(2_000))] });
    await using file = await readGguf(path);
    expect([file.byteOrder, file.metadata.get("a.i32")]).toEqual(["big", 77]);
    expect(await rest(path)).toEqual(await rest(fixture("big.gguf")));
  });

  test("a file without tensors ends with its header, regardless of its size", async () => {
    rmSync(path);
    await writeGguf(path, { metadata: [name("a")], tensors: [] });
    for (const value of ["abc", "long ".repeat(2_000), "", "a"]) {
      await editMetadata(path, { set: [name(value)] });
      await using file = await readGguf(path);
      expect(file.metadata.get("general.name")).toBe(value);
      expect(statSync(path).size).toBe(24 + 8 + "general.name".length + 4 + 8 + value.length);
    }
  });

  test("what cannot be done changes nothing", async () => {
    await expect(editMetadata(path, { remove: ["none"] })).rejects.toMatchObject({ code: "missing" });
    await expect(editMetadata(path, { set: [{ key: "general.alignment", type: "u32", value: 64 }] })).rejects.toThrow(/stay 32, got 64/);
    await expect(editMetadata(join(folder, "none.gguf"), {})).rejects.toMatchObject({ code: "io" });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(editMetadata(path, { set: [name("Eve")], signal })).rejects.toThrow("enough");
    await editMetadata(path, {});
    expect(readFileSync(path).equals(original)).toBe(true);
    expect(readdirSync(folder)).toEqual(["edit.gguf"]);
  });

  test("a killed process leaves either the old file or the new one", async () => {
    // Strings of 8 MiB in all, before and after which everything moves with each edit.
    const [some, more] = [2 ** 20, 7 * 2 ** 20];
    const entries = (first: number): WritableEntry[] => [
      { key: "first", type: "string", value: "a".repeat(first) },
      { key: "second", type: "string", value: "b".repeat(some + more - first) },
    ];
    rmSync(path);
    await writeGguf(path, {
      metadata: entries(some),
      tensors: [{ name: "t", type: "f32", shape: [1000], data: new Uint8Array(4000).fill(7) }],
    });
    const script = `
      const { editMetadata } = await import(${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)});
      for (let i = 0; ; i++) {
        const first = i % 2 === 0 ? ${more} : ${some};
        const set = [{ key: "first", type: "string", value: "a".repeat(first) }, { key: "second", type: "string", value: "b".repeat(${some + more} - first) }];
        await editMetadata(${JSON.stringify(path)}, { set });
        if (i === 0) process.stdout.write("ready");
      }`;
    const random = randomFrom(1);
    // Open, so that no other file gets its number.
    const held = openSync(path, "r");
    const { ino } = fstatSync(held);
    for (let kill = 0; kill < 20; kill++) {
      const args = ["--conditions=@centella/source", "--input-type=module", "-e", script];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(child, "close");
      await once(child.stdout, "data");
      await new Promise((resolve) => setTimeout(resolve, 100 * random()));
      child.kill("SIGKILL");
      await ended;
      await using file = await readGguf(path);
      const first = file.metadata.string("first");
      expect([some, more]).toContain(first.length);
      expect(first).toBe("a".repeat(first.length));
      expect(file.metadata.string("second")).toBe("b".repeat(some + more - first.length));
      expect(await file.readTensor("t")).toEqual(new Uint8Array(4000).fill(7));
    }
    expect(statSync(path).ino).not.toBe(ino);
    closeSync(held);
    for (const left of readdirSync(folder)) if (left !== "edit.gguf") rmSync(join(folder, left));
  });
});

describe("editMetadata of a source", () => {
  /** A source in memory that notes what is written. */
  function editable(bytes: Uint8Array): EditableSource & { readonly writes: [offset: number, length: number][] } {
    const writes: [number, number][] = [];
    return {
      size: bytes.length,
      writes,
      read: async (offset, length) => bytes.slice(offset, offset + length),
      async write(offset, data) {
        writes.push([offset, data.length]);
        bytes.set(data, offset);
      },
    };
  }

  test("writes once, only what differs", async () => {
    const bytes = Uint8Array.from(original);
    const source = editable(bytes);
    await editMetadata(source, { set: [{ key: "a.f32", type: "f32", value: 2 }] });
    expect(source.writes).toHaveLength(1);
    expect(source.writes[0]![1]).toBeLessThanOrEqual(4);
    expect((await readGguf(bytes)).metadata.get("a.f32")).toBe(2);
    await editMetadata(source, {});
    expect(source.writes).toHaveLength(1);
  });

  test("what does not fit is refused, and nothing is written", async () => {
    const source = editable(Uint8Array.from(original));
    await expect(editMetadata(source, { set: [name("long ".repeat(20))] })).rejects.toMatchObject({ code: "no-room" });
    await expect(editMetadata(source, { remove: ["ids", "scores"] })).rejects.toMatchObject({ code: "no-room" });
    expect(source.writes).toEqual([]);
  });
});
