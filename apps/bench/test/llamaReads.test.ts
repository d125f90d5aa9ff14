import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type ByteSink,
  contentOf,
  editMetadata,
  mergedContent,
  quantizeGguf,
  readGguf,
  recipes,
  splitContent,
  splitName,
  writeGguf,
} from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeLlamaCpp } from "../src/peers/nodeLlamaCpp.ts";
import type { Peer } from "../src/peers/peer.ts";
import { missingPeer } from "./missingPeer.ts";

const reason = missingPeer("node-llama-cpp");

const embedded = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

async function writeTo(path: string, write: (sink: ByteSink) => Promise<unknown>): Promise<string> {
  await using handle = await open(path, "w");
  await write({ write: async (bytes) => void (await handle.writeFile(bytes)) });
  return path;
}

describe.skipIf(reason !== undefined)(`llama.cpp reads what we write${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-llama-"));
  const at = (name: string): string => join(folder, name);
  let peer: Peer;
  let halves: string;

  beforeAll(async () => {
    peer = await nodeLlamaCpp.open({ threads: 1 });
    await using file = await readGguf(embedded);
    halves = await writeTo(at("f16.gguf"), (sink) => quantizeGguf(sink, file, "F16", { allowRequantize: true }));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await peer?.dispose();
  });

  /** It loads, and gives tokens: all tensors are there and used. */
  async function expectRuns(path: string): Promise<void> {
    const runner = await peer.model!.open(path, 64);
    expect(await runner.prefill([1, 2, 3, 4])).toBeGreaterThan(0);
    expect(await runner.decode([1, 2, 3, 4], 4)).toBeGreaterThan(0);
    await runner.dispose();
  }

  test("read and written again, as version 3 and 2", async () => {
    await using file = await readGguf(embedded);
    for (const version of [3, 2] as const)
      await expectRuns(await writeTo(at(`v${version}.gguf`), (sink) => writeGguf(sink, { ...contentOf(file), version })));
  });

  test("split by tensors and by bytes, with and without tensors in the first part, and merged", async () => {
    await using file = await readGguf(halves);
    for (const [i, options] of [{ maxTensors: 7 }, { maxBytes: 3_000_000 }, { maxTensors: 20, emptyFirst: true }].entries()) {
      const parts = splitContent(contentOf(file), options);
      const names = parts.map((_, part) => at(splitName({ prefix: `split${i}`, number: part + 1, count: parts.length })));
      for (const [part, content] of parts.entries()) await writeTo(names[part]!, (sink) => writeGguf(sink, content));
      await expectRuns(names[0]!);
      await using whole = await readGguf(names[0]!);
      await expectRuns(await writeTo(at(`merged${i}.gguf`), (sink) => writeGguf(sink, mergedContent(contentOf(whole)))));
    }
  });

  test("edited in place", async () => {
    const path = at("edited.gguf");
    copyFileSync(embedded, path);
    await using before = await readGguf(path);
    const name = before.metadata.string("general.name");
    const changed = [...name].reverse().join("");
    await editMetadata(path, { set: [{ key: "general.name", type: "string", value: changed }] });
    await using after = await readGguf(path);
    expect(after.metadata.string("general.name")).toBe(changed);
    await expectRuns(path);
  });

  test.each(recipes.flatMap((recipe) => [false, true].map((pure) => ({ recipe, pure }))))(
    "quantised to $recipe, pure: $pure",
    async ({ recipe, pure }) => {
      await using file = await readGguf(halves);
      const weighted = recipe === "Q2_K_S" || recipe.startsWith("IQ");
      const entries = new Map(file.tensors.map(({ name, shape }) => [name, new Float32Array(shape.at(-1) ?? 1).fill(1)]));
      const imatrix = { entries, chunks: undefined, datasets: [] };
      const path = at("quantised.gguf");
      await writeTo(path, (sink) => quantizeGguf(sink, file, recipe, { pure, threads: 1, ...(weighted ? { imatrix } : {}) }));
      await expectRuns(path);
    },
  );
});
