import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blockLayout, quantize } from "@centella/quant";
import { afterAll, describe, expect, test } from "vitest";
import {
  type GgufContent,
  type Imatrix,
  quantizeGguf,
  quantizePlan,
  type Recipe,
  readGguf,
  readImatrix,
  recipes,
  writeGguf,
} from "../src/index.ts";
import { sharedPath } from "./shared.ts";
import { Writer } from "./writer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-quantize-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function collected(write: (sink: { write(bytes: Uint8Array): Promise<void> }) => Promise<unknown>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  await write({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) });
  return Buffer.concat(pieces);
}

/** Where two files differ, in words, and the share of differing blocks of their tensors. */
async function difference(
  got: Buffer,
  want: Buffer,
): Promise<{ readonly isEqual: boolean; readonly blocks: number; readonly same: number }> {
  const [ours, theirs] = [await readGguf(got), await readGguf(want)];
  let blocks = 0;
  let same = 0;
  for (const tensor of theirs.tensors) {
    const mine = ours.tensor(tensor.name);
    const { blockBytes } = blockLayout(tensor.type);
    const [a, b] = [Buffer.from(await ours.readTensor(mine)), Buffer.from(await theirs.readTensor(tensor))];
    blocks += b.length / blockBytes;
    for (let at = 0; at < b.length; at += blockBytes) {
      if (mine.type === tensor.type && a.subarray(at, at + blockBytes).equals(b.subarray(at, at + blockBytes))) same++;
    }
  }
  return { isEqual: got.equals(want), blocks, same };
}

/** Some of the outside files were made with `--pure`. */
const cases = [
  { model: "data/archs/llama-dense.gguf", made: "data/quants/llama-dense", pure: true },
  { model: "data/stories260K/stories260K.gguf", made: "data/stories260K/stories260K", pure: false },
].flatMap(({ model, made, pure }) =>
  recipes.map((recipe) => ({ recipe, pure, model: sharedPath(model), made: sharedPath(`${made}-${recipe}.gguf`) })),
);
const present = cases.filter(({ model, made }) => model !== undefined && made !== undefined);

describe.skipIf(present.length === 0)("llama-quantize's files, byte for byte (skipped without the outside data)", () => {
  test.each(present)("$recipe: $made", async ({ recipe, pure, model, made }) => {
    await using file = await readGguf(model!);
    const got = await collected((sink) => quantizeGguf(sink, file, recipe, { pure, threads: 1 }));
    const { blocks, same, isEqual } = await difference(got, readFileSync(made!));
    expect(same, `of ${blocks} blocks`).toBe(blocks);
    expect(isEqual).toBe(true);
  });
});

/** A model of random weights: two layers of attention values, rows of 512 and 96. */
function model(scale = 1): GgufContent {
  let state = 1;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (scale * (state / 2 ** 31 - 1)) as number;
  };
  const tensor = (name: string, shape: readonly number[]): GgufContent["tensors"][number] => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, random);
    return { name, type: "f32", shape, data: new Uint8Array(values.buffer) };
  };
  return {
    metadata: [
      { key: "general.architecture", type: "string", value: "llama" },
      { key: "general.file_type", type: "u32", value: 0 },
      { key: "llama.block_count", type: "u32", value: 2 },
    ],
    tensors: [
      tensor("token_embd.weight", [24, 512]),
      tensor("output_norm.weight", [512]),
      tensor("blk.0.attn_v.weight", [130, 512]),
      tensor("blk.0.ffn_down_exps.weight", [3, 10, 512]),
      tensor("blk.0.attn_k.weight", [6, 96]),
      tensor("blk.1.attn_v.weight", [10, 512]),
    ],
  };
}

const opened = async (content: GgufContent) => readGguf(await collected((sink) => writeGguf(sink, content)));

describe("quantizeGguf", () => {
  test("threads, pieces and the calling thread give the same file", async () => {
    const file = await opened(model());
    const single = await collected((sink) => quantizeGguf(sink, file, "Q4_K_M", { threads: 1 }));
    const several = await collected((sink) => quantizeGguf(sink, file, "Q4_K_M", { threads: 3 }));
    expect(several.equals(single)).toBe(true);
    const again = await readGguf(single);
    expect(again.metadata.number("general.file_type")).toBe(15);
    expect([...again.metadata.keys()].slice(-2)).toEqual(["general.quantization_version", "general.file_type"]);
  });

  test("reports the type of each tensor, and the progress", async () => {
    const file = await opened(model());
    const steps: [number, number][] = [];
    const sizes: number[] = [];
    const sink = { write: async (piece: Uint8Array) => void sizes.push(piece.length) };
    const onProgress = (done: number, total: number): unknown => steps.push([done, total]);
    const report = await quantizeGguf(sink, file, "Q4_K_S", { threads: 1, onProgress });
    const bytes = sizes.reduce((a, b) => a + b);
    expect(report.bytes).toBe(bytes);
    expect(steps.at(-1)).toEqual([bytes, bytes]);
    expect(report.tensors.map(({ name, to }) => [name, to])).toEqual([
      ["output_norm.weight", "f32"],
      ["token_embd.weight", "q6_K"],
      ["blk.0.attn_k.weight", "q5_0"],
      ["blk.0.attn_v.weight", "q5_K"],
      ["blk.0.ffn_down_exps.weight", "q4_K"],
      ["blk.1.attn_v.weight", "q5_K"],
    ]);
    expect(quantizePlan(file, "Q4_K_S")).toEqual(report.tensors);
  });

  test("every expert has an importance of its own", async () => {
    const file = await opened(model());
    const name = "blk.0.ffn_down_exps.weight";
    const importance = Float32Array.from({ length: 3 * 512 }, (_, i) => 1 + (i % 7) * (1 + Math.floor(i / 512)));
    const imatrix: Imatrix = { entries: new Map([[name, importance]]), chunks: 3, datasets: ["text"], name: "some.gguf" };
    const made = await readGguf(await collected((sink) => quantizeGguf(sink, file, "IQ4_XS", { imatrix, threads: 2 })));
    const values = await file.readTensorF32(name);
    const blocks = Buffer.from(await made.readTensor(name));
    for (let expert = 0; expert < 3; expert++) {
      const want = quantize("iq4_xs", values.subarray(expert * 5120, (expert + 1) * 5120), undefined, {
        imatrix: importance.subarray(expert * 512, (expert + 1) * 512),
      });
      expect(blocks.subarray(expert * want.length, (expert + 1) * want.length).equals(want)).toBe(true);
    }
    expect(made.metadata.string("quantize.imatrix.file")).toBe("some.gguf");
    expect(made.metadata.number("quantize.imatrix.chunks_count")).toBe(3);
    const other = { ...imatrix, entries: new Map([[name, new Float32Array(512)]]) };
    expect(() => quantizePlan(file, "Q4_K_M", { imatrix: other })).toThrow(/expected 1536 numbers for '.*' in the imatrix, got 512/);
  });

  test("quantised input, missing importance and bad values are refused", async () => {
    const file = await opened(model());
    const small = await readGguf(await collected((sink) => quantizeGguf(sink, file, "Q8_0", { threads: 1 })));
    expect(() => quantizePlan(small, "Q4_K_M")).toThrow(/expected '.*' in f32, f16 or bf16, got q8_0; quantise the original file/);
    const again = await collected((sink) => quantizeGguf(sink, small, "Q4_K_M", { threads: 1, allowRequantize: true }));
    expect((await readGguf(again)).tensor("token_embd.weight").type).toBe("q6_K");
    expect(() => quantizePlan(file, "Q2_K_S")).toThrow(/importance matrix .* Q2_K_S needs, got none; give an imatrix, or take Q2_K/);
    for (const threads of [1, 2]) {
      const bad = async (scale: number, recipe: Recipe) =>
        quantizeGguf({ write: async () => {} }, await opened(model(scale)), recipe, { threads });
      await expect(bad(Number.NaN, "Q4_K_M")).rejects.toMatchObject({ code: "corrupt", message: /finite numbers in 'token_embd.weight'/ });
      await expect(bad(1e9, "Q4_0")).rejects.toMatchObject({ code: "corrupt", message: /beyond what q\w+ can hold/ });
      await expect(bad(1e6, "F16")).rejects.toMatchObject({ code: "corrupt" });
    }
    await expect(quantizeGguf({ write: async () => {} }, file, "Q4_0", { threads: 0 })).rejects.toMatchObject({ code: "argument" });
  });

  test.each([1, 2])("an abort ends quantising at once, on %i threads", async (threads) => {
    const file = await opened({
      ...model(),
      tensors: [{ name: "a.weight", type: "f16", shape: [4096, 1024], data: new Uint8Array(2 ** 23) }],
    });
    const controller = new AbortController();
    let writes = 0;
    const running = quantizeGguf({ write: async () => {} }, file, "Q4_K_M", {
      threads,
      signal: controller.signal,
      onProgress: (done, total) => {
        expect(done).toBeLessThan(total);
        if (++writes === 3) controller.abort(new Error("enough"));
      },
    });
    await expect(running).rejects.toThrow("enough");
    expect(writes).toBe(3);
  });
});

describe("readImatrix", () => {
  test("a GGUF file of sums and counts", async () => {
    const f32 = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.of(...values).buffer);
    const content: GgufContent = {
      metadata: [
        { key: "general.type", type: "string", value: "imatrix" },
        { key: "imatrix.datasets", type: "array", elementType: "string", value: ["wiki"] },
        { key: "imatrix.chunk_count", type: "u32", value: 5 },
      ],
      tensors: [
        { name: "a.weight.in_sum2", type: "f32", shape: [2, 3], data: f32(2, 4, 6, 1, 1, 1) },
        { name: "a.weight.counts", type: "f32", shape: [2, 1], data: f32(2, 0) },
      ],
    };
    const imatrix = await readImatrix(await collected((sink) => writeGguf(sink, content)));
    expect([...imatrix.entries]).toEqual([["a.weight", Float32Array.of(1, 2, 3, 1, 1, 1)]]);
    expect(imatrix).toMatchObject({ chunks: 5, datasets: ["wiki"] });
    const other = collected((sink) => writeGguf(sink, { ...content, metadata: [] }));
    await expect(readImatrix(await other)).rejects.toThrow(/GGUF file of type 'imatrix'/);
  });

  test("the format before GGUF", async () => {
    const text = (writer: Writer, value: string): Writer => writer.u32(value.length).bytes(new TextEncoder().encode(value));
    const numbers = (values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
    const writer = text(new Writer().u32(2), "a.weight")
      .u32(4)
      .u32(2)
      .bytes(numbers([4, 8]));
    text(
      text(writer, "b.weight")
        .u32(0)
        .u32(1)
        .bytes(numbers([3]))
        .u32(7),
      "wiki",
    );
    const path = join(folder, "old.imatrix");
    const bytes = writer.done();
    writeFileSync(path, bytes);
    const imatrix = await readImatrix(path);
    expect([...imatrix.entries]).toEqual([
      ["a.weight", Float32Array.of(1, 2)],
      ["b.weight", Float32Array.of(3)],
    ]);
    expect(imatrix).toMatchObject({ chunks: 7, datasets: ["wiki"], name: path });
    for (let length = 5; length < bytes.length - 12; length += 3)
      await expect(readImatrix(bytes.slice(0, length))).rejects.toMatchObject({ code: "truncated" });
    await expect(readImatrix(new Uint8Array([255, 255, 255, 255]))).rejects.toMatchObject({ code: "invalid" });
  });
});
