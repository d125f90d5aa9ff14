import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { type GgufFile, parseSplitName, readGguf, splitName } from "../src/index.ts";
import { parseHubSpec } from "../src/pull/hub.ts";
import { shownPath } from "../src/shown.ts";

// Written by llama.cpp's own gguf-py, see scripts/fixtures.py.
const fixture = (name: string): string => join(import.meta.dirname, "fixtures", name);
const part = (number: number): string => fixture(splitName({ prefix: "split", number, count: 3 }));
const blob = (path: string): Blob => new Blob([readFileSync(path)]);
const folder = mkdtempSync(join(tmpdir(), "gguf-parts-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function expectWhole(file: GgufFile): Promise<void> {
  await using whole = await readGguf(fixture("little.gguf"));
  expect(file.parts).toBe(3);
  expect(file.tensors.map(({ name }) => name)).toEqual(whole.tensors.map(({ name }) => name));
  for (const { name } of whole.tensors) expect(await file.readTensor(name)).toEqual(await whole.readTensor(name));
  expect(file.metadata.strings("tokenizer.ggml.tokens").toArray()).toEqual(["a", "ñandú", ""]);
}

describe("split files", () => {
  test("open by their first part's path or URL", async () => {
    await using byPath = await readGguf(part(1));
    await expectWhole(byPath);
    await using byUrl = await readGguf(pathToFileURL(part(1)));
    await expectWhole(byUrl);
  });

  test("open by a list in any order", async () => {
    await using file = await readGguf([part(3), part(1), part(2)]);
    await expectWhole(file);
    await expectWhole(await readGguf([blob(part(2)), blob(part(3)), blob(part(1))]));
    await expectWhole(await readGguf([1, 2, 3].map((number) => new Uint8Array(readFileSync(part(number))))));
  });

  test("a read across parts is whole", async () => {
    await using file = await readGguf(part(1));
    const all = Buffer.concat([1, 2, 3].map((number) => readFileSync(part(number))));
    expect(Buffer.from(await file.source.read(0, all.length)).equals(all)).toBe(true);
    expect(Buffer.from(await file.source.read(600, 300)).equals(all.subarray(600, 900))).toBe(true);
    const target = new Uint8Array(all.length - 2);
    await file.source.readInto!(target, 1);
    expect(all.subarray(1, -1).equals(target)).toBe(true);
    await using mixed = await readGguf([part(1), part(2), blob(part(3))]);
    expect(mixed.source.readInto).toBe(undefined);
  });

  test("the error names what is missing", async () => {
    await expect(readGguf(part(2))).rejects.toThrow(`the first part of a split file, got part 2 of 3; open '${part(1)}'`);
    const [first, second] = [part(1), part(2)].map((path) => pathToFileURL(path));
    await expect(readGguf(second!)).rejects.toThrow(`the first part of a split file, got part 2 of 3; open '${first!.href}'`);
    await expect(readGguf(blob(part(1)))).rejects.toThrow(/all 3 parts of a split file, got part 1 alone; pass all parts in an array/);
    await expect(readGguf([part(1), part(3)])).rejects.toThrow(/all 3 parts, got 2 without part 2/);
    await expect(readGguf([part(1), part(1), part(3)])).rejects.toThrow(/every part once, got part 1 twice/);
    await expect(readGguf([part(1), fixture("little.gguf")])).rejects.toThrow(/parts of one file of 3, got one of a file of 1/);
    await expect(readGguf([])).rejects.toThrow(/an empty list/);
    const renamed = join(folder, "renamed.gguf");
    copyFileSync(part(1), renamed);
    await expect(readGguf(renamed)).rejects.toThrow(/to end in '-00001-of-00003\.gguf', got '.*renamed\.gguf'; rename/);
    const lonely = join(folder, splitName({ prefix: "split", number: 1, count: 3 }));
    copyFileSync(part(1), lonely);
    await expect(readGguf(lonely)).rejects.toThrow(/cannot open '.*-00002-of-00003\.gguf': no such file/);
  });
});

test("messages have whole paths and URLs, however long", async () => {
  // Names close to 255 bytes, the limit of most file systems.
  const deep = join(folder, "a folder ".repeat(20).trim(), "long ".repeat(40).trim());
  mkdirSync(deep, { recursive: true });
  const at = (name: string): string => join(deep, name);
  const [first, second, odd] = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "odd.gguf"].map(at);
  copyFileSync(part(2), second!);
  copyFileSync(part(1), odd!);
  await expect(readGguf(second!)).rejects.toThrow(`; open '${first}'`);
  await expect(readGguf(pathToFileURL(second!))).rejects.toThrow(`; open '${pathToFileURL(first!).href}'`);
  await expect(readGguf(odd!)).rejects.toThrow(`, got '${odd}'; rename`);
  await expect(readGguf(at("none.gguf"))).rejects.toThrow(`cannot open '${at("none.gguf")}': no such file`);
  const spec = `hf:owner/repo:${"no quantisation ".repeat(10)}`;
  expect(() => parseHubSpec(spec)).toThrow(`, got '${spec}'`);
  expect(shownPath(`${"a/".repeat(5000)}model.gguf`)).toMatch(/^….*\/model\.gguf$/);
  expect(shownPath("a\u001b[2Jb")).toBe("a\\u001b[2Jb");
});

test("names are llama.cpp's", () => {
  expect(splitName({ prefix: "a/b", number: 2, count: 12 })).toBe("a/b-00002-of-00012.gguf");
  expect(parseSplitName("a/b-00002-of-00012.gguf")).toEqual({ prefix: "a/b", number: 2, count: 12 });
  for (const name of ["b.gguf", "b-2-of-3.gguf", "b-00000-of-00003.gguf", "b-00004-of-00003.gguf"])
    expect(parseSplitName(name)).toBeUndefined();
});
