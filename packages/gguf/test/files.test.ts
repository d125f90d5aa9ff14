import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { formatInspect, inspect, readGguf } from "../src/index.ts";
import { sharedPath } from "./shared.ts";

const reason = "(skipped: the outside test data is not there; set CENTELLA_SHARED)";

/** Runs on the named files of the shared data, or skips with the reason. */
function withFiles(title: string, names: readonly string[], run: (...paths: string[]) => Promise<void>): void {
  const paths = names.map((name) => sharedPath(name)).filter((path) => path !== undefined);
  if (paths.length === names.length) test(title, () => run(...paths));
  else test.skip(`${title} ${reason}`, () => {});
}

const stories = "data/stories260K/stories260K";

describe("real files", () => {
  withFiles("a version 1 file is refused, clearly", ["data/stories260K/tinyllamas-stories-260k-f32.v1.gguf"], async (path) => {
    await expect(readGguf(path)).rejects.toThrow(/^gguf: expected GGUF version 2 or 3, got GGUF version 1 at byte 4; convert/);
  });

  withFiles("Fable, Q4_K_M", ["models/fable-q4_k_m.gguf"], async (path) => {
    await using file = await readGguf(path);
    const report = inspect(file);
    expect(report).toMatchObject({
      version: 3,
      architecture: "llama",
      parameters: 20_978_176,
      fileType: { name: "Q4_K_M", label: "Q4_K - Medium" },
    });
    expect(file.metadata.count("llama.block_count")).toBe(6);
    expect(file.metadata.count("llama.embedding_length")).toBe(512);
    expect(file.metadata.strings("tokenizer.ggml.tokens").length).toBe(4096);
    expect(file.metadata.strings("tokenizer.ggml.tokens").at(0)).toBe("<|bos|>");
    expect(file.tensor("token_embd.weight").shape).toEqual([4096, 512]);
    expect(file.tensor("blk.0.ffn_down.weight").shape).toEqual([512, 1536]);
    expect(formatInspect(report)).toContain("Q4_K_M (Q4_K - Medium)");
  });

  const blob = (path: string): Blob => new Blob([readFileSync(path)]);
  withFiles("path, Blob and ArrayBuffer give the same", ["models/fable-tiny-q8_0.gguf"], async (path) => {
    await using fromPath = await readGguf(path);
    const fromBlob = await readGguf(blob(path));
    const fromBuffer = await readGguf(await blob(path).arrayBuffer());
    expect(inspect(fromBlob)).toEqual(inspect(fromPath));
    expect(inspect(fromBuffer)).toEqual(inspect(fromPath));
    for (const tensor of fromPath.tensors) {
      const want = Buffer.from(await fromPath.readTensor(tensor));
      expect(want.equals(await fromBlob.readTensor(tensor.name))).toBe(true);
      expect(want.equals(await fromBuffer.readTensor(tensor.name))).toBe(true);
    }
  });

  withFiles(
    "Q8_0 weights are the F16 weights to within half a step",
    ["models/fable-tiny-f16.gguf", "models/fable-tiny-q8_0.gguf"],
    async (f16, q8) => {
      await using exact = await readGguf(f16);
      await using rounded = await readGguf(q8);
      let blocks = 0;
      for (const { name, type } of rounded.tensors.filter((tensor) => tensor.type === "q8_0")) {
        const want = await exact.readTensorF32(name);
        const got = await rounded.readTensorF32(name, { chunkBytes: 10_000 });
        expect(got.length, `${name} (${type})`).toBe(want.length);
        for (let i = 0; i < want.length; i += 32) {
          const block = want.subarray(i, i + 32);
          const step = block.reduce((largest, w) => Math.max(largest, Math.abs(w)), 0) / 127;
          // Half a step, plus what rounding the scale to f16 moves 127 steps by.
          const limit = step * (0.5 + 127 * 2 ** -11) + 1e-7;
          block.forEach((w, j) => {
            if (!(Math.abs(got[i + j]! - w) <= limit)) expect.fail(`${name}[${i + j}]: expected ${w} ± ${limit}, got ${got[i + j]}`);
          });
          blocks++;
        }
      }
      expect(blocks).toBeGreaterThan(60_000);
    },
  );

  const oldTypes = ["", "-F16", "-BF16", "-Q4_0", "-Q4_1", "-Q5_0", "-Q5_1", "-Q8_0", "-Q6_K", "-Q4_K_M", "-Q2_K", "-IQ4_NL", "-TQ1_0"];
  withFiles(
    "every quantisation of stories260K opens and names itself",
    oldTypes.map((suffix) => `${stories}${suffix}.gguf`),
    async (...paths) => {
      for (const path of paths) {
        await using file = await readGguf(path);
        const { fileType, parameters } = inspect(file);
        expect(parameters, path).toBe(292_800);
        const suffix = basename(path, ".gguf").slice("stories260K".length + 1);
        if (suffix !== "") expect(fileType?.name, path).toBe(suffix);
        for (const tensor of file.tensors)
          expect((await file.readTensorF32(tensor)).every(Number.isFinite), `${path} ${tensor.name}`).toBe(true);
      }
    },
  );

  const quants = [
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ4_XS",
    "IQ3_S",
    "IQ3_M",
    "TQ2_0",
    "MXFP4_MOE",
  ];
  withFiles(
    "file types are named as llama.cpp's quantiser names them",
    quants.map((name) => `data/quants/llama-dense-${name}.gguf`),
    async (...paths) => {
      for (const path of paths) {
        await using file = await readGguf(path);
        expect(inspect(file).fileType?.name).toBe(basename(path, ".gguf").slice("llama-dense-".length));
      }
    },
  );
});
