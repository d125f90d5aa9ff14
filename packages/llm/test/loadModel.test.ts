import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BackendFactory, createRuntime, OutOfMemoryError, type Runtime, reference, UnsupportedError } from "@centella/core";
import { contentOf, type GgufContent, GgufError, readGguf, splitContent, splitName, writeGguf as writeGgufFile } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type LoadModelOptions,
  loadModel,
  ModelError,
  supportedArchitectures,
  TokenizerError,
  UnsupportedArchitectureError,
} from "../src/index.ts";
import { ModelSamples } from "../src/load/modelSamples.ts";
import { unverifiedArchitectures } from "../src/models/index.ts";
import { familyModel, readFamilyGolden } from "./familyFixture.ts";
import { hasShared, patched, readFloats, tiny, u32Entry } from "./modelFiles.ts";
import { shared } from "./shared.ts";
import { relativeError } from "./vectors.ts";

const ids = [0, 2817, 632, 263, 534];
let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [] });
});
afterAll(() => runtime.dispose());

/** The scalar reference under another name and without 8-bit activations. */
const exactOnly: BackendFactory = {
  name: "exactOnly",
  async open() {
    const backend = await reference().open();
    return new Proxy(backend, {
      get(target, key) {
        if (key === "name") return "exactOnly";
        if (key === "unsupported")
          return (_op: object, _inputs: object, params: object) =>
            "activations" in params && params.activations === "ggml" ? "activations are f32 here" : undefined;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  },
};

async function collect(content: GgufContent): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  await writeGgufFile({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, content);
  return Buffer.concat(pieces);
}

describe("loadModel", () => {
  test("describes the loaded model", async () => {
    await using model = await loadModel(tiny, { runtime });
    expect(model.info).toEqual({
      name: "Fable Tiny 2M",
      architecture: "llama",
      isVerified: true,
      quantization: "Q8_0",
      sampling: {},
      parameters: 2_229_504,
      vocabSize: 4096,
      embeddingLength: 256,
      tasks: ["generate", "embed"],
      hasChatTemplate: true,
      contextLength: 1024,
      contextReason: "as trained",
      trainedContextLength: 1024,
      batchSize: 512,
      sequences: 1,
      cacheType: "f16",
      activations: "ggml",
      backend: "reference",
      device: "scalar TypeScript",
      threads: 1,
      backendReason: "first choice that can",
      rejected: [],
      warnings: [],
      // 2 layers × 2 heads × (64 + 64) × 2 bytes × 1024 tokens of cache.
      memory: { weights: 2_372_608, cache: 1_048_576 },
    });
  });

  test("reads a Blob, bytes and a source, and leaves a source open", async () => {
    const bytes = readFileSync(tiny);
    let closed = 0;
    const source = {
      size: bytes.length,
      read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
      close: async () => void closed++,
    };
    await using model = await loadModel(tiny, { runtime });
    const logits = await model.logits(ids);
    for (const input of [new Blob([bytes]), bytes, new Uint8Array(bytes).buffer, source, new URL(`file://${tiny}`)]) {
      await using other = await loadModel(input, { runtime });
      expect(await other.logits(ids)).toEqual(logits);
    }
    expect(closed).toBe(0);
  });

  test("reads split files: by the first part's path or URL, or a list of paths, blobs, bytes and sources", async () => {
    const folder = mkdtempSync(join(tmpdir(), "centella-parts-"));
    try {
      await using file = await readGguf(tiny);
      const parts = splitContent(contentOf(file), { maxTensors: 9 });
      const bytes = await Promise.all(parts.map(collect));
      const paths = parts.map((_, i) => join(folder, splitName({ prefix: "tiny", number: i + 1, count: parts.length })));
      for (const [i, path] of paths.entries()) writeFileSync(path, bytes[i]!);
      await using whole = await loadModel(tiny, { runtime, contextLength: 8 });
      const logits = await whole.logits(ids);
      let closed = 0;
      const own = {
        size: bytes[1]!.length,
        read: async (offset: number, length: number) => bytes[1]!.subarray(offset, offset + length),
        close: async () => void closed++,
      };
      const blobs = bytes.map((part) => new Blob([part]));
      const mixed = [own, paths[0]!, ...blobs.slice(2)];
      for (const source of [paths[0]!, pathToFileURL(paths[0]!), paths.toReversed(), blobs, mixed]) {
        const model = await loadModel(source, { runtime, contextLength: 8 });
        expect(await model.logits(ids)).toEqual(logits);
        await model.dispose();
      }
      expect(closed).toBe(0);
      await expect(loadModel(blobs.slice(1), { runtime })).rejects.toMatchObject({ name: "GgufError", code: "parts" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("reports progress up to the end, each value once", async () => {
    const calls: [number, number][] = [];
    await using model = await loadModel(tiny, { runtime, onProgress: (done, total) => calls.push([done, total]) });
    expect(calls.length).toBeGreaterThan(10);
    const counts = calls.map(([done]) => done);
    expect(counts).toEqual([...new Set(counts)].toSorted((a, b) => a - b));
    expect(calls.at(-1)).toEqual([model.info.memory.weights, model.info.memory.weights]);
  });

  test("an abort while loading rejects with its reason", async () => {
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    const onProgress = () => controller.abort(reason);
    await expect(loadModel(tiny, { runtime, signal: controller.signal, onProgress })).rejects.toBe(reason);
    await expect(loadModel(tiny, { runtime, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("an abort or an error after the last weight rejects, too, and frees the weights", async () => {
    await using own = await createRuntime({ backends: [reference()] });
    const [backend] = own.backends;
    const reason = new Error("changed my mind");
    const controller = new AbortController();
    const onProgress = (done: number, total: number) => done === total && controller.abort(reason);
    await expect(loadModel(tiny, { runtime: own, signal: controller.signal, onProgress })).rejects.toBe(reason);
    expect(backend?.memory().persistents).toBe(0);
    using _ = vi.spyOn(ModelSamples.prototype, "complete").mockRejectedValue(reason);
    await expect(loadModel(tiny, { runtime: own })).rejects.toBe(reason);
    expect(backend?.memory().persistents).toBe(0);
  });

  test("activations are rounded if the backend supports it, otherwise exact, or an error if forced", async () => {
    const limited = await createRuntime({ backends: [exactOnly] });
    await using exact = await loadModel(tiny, { runtime: limited });
    expect(exact.info).toMatchObject({ backend: "exactOnly", activations: "f32" });
    await using same = await loadModel(tiny, { runtime, activations: "f32" });
    expect(await exact.logits(ids)).toEqual(await same.logits(ids));
    await using rounded = await loadModel(tiny, { runtime });
    expect(await rounded.logits(ids)).not.toEqual(await same.logits(ids));
    const forced = loadModel(tiny, { runtime: limited, activations: "ggml" });
    await expect(forced).rejects.toThrow(UnsupportedError);
    await expect(forced).rejects.toThrow(/exactOnly: .*activations are f32 here/);
    await limited.dispose();
  });
});

test.skipIf(!hasShared)(
  `GELU is ggml's table unless exact arithmetic is asked for${hasShared ? "" : " (skipped: no outside test data)"}`,
  async () => {
    const few = Array.from({ length: 12 }, (_, i) => i + 1);
    const errorOf = async (activations: "f32" | undefined): Promise<number> => {
      await using model = await loadModel(shared("data/archs/phi2-dense.gguf"), { runtime, cacheType: "f32", activations });
      return relativeError(await model.logits(few), readFloats("data/archs/phi2-dense.logits.f32"));
    };
    expect(await errorOf(undefined)).toBeLessThan(1e-4);
    expect(await errorOf("f32")).toBeGreaterThan(1e-4);
    expect(await errorOf("f32")).toBeLessThan(3e-4);
  },
);

test("an architecture that was never compared with another implementation says so, once", async () => {
  unverifiedArchitectures.add("xverse");
  try {
    await using model = await loadModel(familyModel(readFamilyGolden("xverse")), { runtime });
    expect(model.info.isVerified).toBe(false);
    expect(model.info.warnings.filter((warning) => warning.includes("xverse is unverified"))).toHaveLength(1);
  } finally {
    unverifiedArchitectures.delete("xverse");
  }
});

describe('contextLength "auto"', () => {
  test("chooses the longest context that fits, and reports it", async () => {
    // 2,372,608 bytes of tensors; 1,024 bytes of cache for each token.
    await using some = await loadModel(tiny, { runtime, contextLength: "auto", memoryLimit: 2_372_608 + 700 * 1024 });
    expect(some.info.contextLength).toBe(672);
    expect(some.info.contextReason).toMatch(/^auto: the longest that fits, \d+ MiB of weights and cache in \d+ MiB \(memoryLimit\)$/);
    await using all = await loadModel(tiny, { runtime, contextLength: "auto" });
    expect(all.info.contextLength).toBe(1024);
    expect(all.info.contextReason).toMatch(/^auto: all that the model was trained on, .* \(80 % of the free memory\)$/);
    await using asked = await loadModel(tiny, { runtime, contextLength: 64 });
    expect(asked.info.contextReason).toBe("as asked for");
  });

  test("tries shorter contexts if the device has less memory than expected", async () => {
    const small: BackendFactory = {
      name: "small",
      async open() {
        const backend = await reference().open();
        return new Proxy(backend, {
          get(target, key) {
            if (key === "name") return "small";
            if (key === "compile")
              return async (program: Parameters<typeof backend.compile>[0], options: object) => {
                const slots = program.persistents.get("cache.0")!.spec.shape[0]!;
                if (slots > 600) throw new OutOfMemoryError("small", slots);
                return target.compile(program, options);
              };
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    };
    await using limited = await createRuntime({ backends: [small], policy: { force: "small" } });
    await using model = await loadModel(tiny, { runtime: limited, contextLength: "auto" });
    expect(model.info).toMatchObject({ contextLength: 512, contextReason: "auto: the device had no memory for 1024" });
    expect(await model.logits(ids)).toHaveLength(ids.length * 4096);
    await expect(loadModel(tiny, { runtime: limited, contextLength: 1024 })).rejects.toThrow(OutOfMemoryError);
  });
});

describe("loadModel refuses", () => {
  const load = (source: Parameters<typeof loadModel>[0], options: Partial<LoadModelOptions> = {}) =>
    loadModel(source, { runtime, ...options });

  test("an unknown architecture, naming it", async () => {
    const error = await load(patched(tiny, ["llama", "llamb"])).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnsupportedArchitectureError);
    expect(error).toMatchObject({
      architecture: "llamb",
      supported: supportedArchitectures,
      reason: undefined,
      message: "model: expected a supported architecture, got llamb; use another model",
    });
  });

  test("an architecture that is known and not computed, with the reason", async () => {
    const golden = readFamilyGolden("refact");
    const metadata = [["general.architecture", "string", "eagle3"] as const, ...golden.metadata.slice(1)];
    const error = await load(familyModel({ ...golden, metadata })).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnsupportedArchitectureError);
    expect(error).toMatchObject({ architecture: "eagle3", reason: expect.stringContaining("for another model") });
    expect((error as Error).message).toContain("got eagle3: it drafts for another model, and is loaded as its draft");
  });

  test("missing metadata, all keys at once", async () => {
    const source = patched(tiny, ["llama.block_count", "llama.block_cound"], ["llama.context_length", "llama.context_lengtx"]);
    await expect(load(source)).rejects.toThrow(/the keys llama.context_length, llama.block_count, got none/);
  });

  test("more blocks than a file can have, immediately", async () => {
    const key = "llama.block_count";
    await expect(load(patched(tiny, [u32Entry(key, 2), u32Entry(key, 2 ** 31)]))).rejects.toThrow(
      /from 0 to \d+, the number of tensors, for llama.block_count, got 2147483648/,
    );
  });

  test("missing tensors and unknown ones, all at once", async () => {
    const source = patched(tiny, ["blk.1.ffn_up.weight", "blk.1.ffn_UP.weight"], ["output_norm.weight", "output_morn.weight"]);
    await expect(load(source)).rejects.toThrow(ModelError);
    await expect(load(source)).rejects.toThrow(
      "model: expected these tensors, got none of them (blk.1.ffn_up.weight [512, 256], output_norm.weight [256]); expected only tensors that the architecture knows, got (",
    );
    await expect(load(source)).rejects.toThrow(/blk\.1\.ffn_UP\.weight.*output_morn\.weight|output_morn\.weight.*blk\.1\.ffn_UP\.weight/);
  });

  test("tensors of other shapes, with both shapes", async () => {
    const key = "llama.feed_forward_length";
    const source = patched(tiny, [u32Entry(key, 512), u32Entry(key, 256)]);
    await expect(load(source)).rejects.toThrow(/blk\.0\.ffn_gate\.weight \[512, 256\] instead of \[256, 256\], .*blk\.1\.ffn_down/);
  });

  test("a truncated file, a missing one, and one that is not GGUF", async () => {
    await expect(load(readFileSync(tiny).subarray(0, 1_000_000))).rejects.toThrow(GgufError);
    await expect(load("no/such/file.gguf")).rejects.toThrow(/no such file/);
    await expect(load(new Uint8Array(64))).rejects.toThrow(GgufError);
  });

  test.each([
    [{ contextlength: 5 }, /options among \{runtime, contextLength.*got contextlength; check the spelling/],
    [{ runtime: {} }, /loadModel: expected runtime to be a runtime, got an object/],
    [{ contextLength: 0 }, /loadModel: expected contextLength to be a whole number from 1 or "auto", got 0/],
    [{ contextLength: 2048 }, /from 1 to 1024, got 2048/],
    [{ contextLength: "all" }, /contextLength to be a whole number from 1 or "auto", got "all"/],
    [{ contextLength: "auto", memoryLimit: 0 }, /memoryLimit to be a whole number from 1, got 0/],
    [
      { contextLength: "auto", memoryLimit: 2_600_000 },
      /contextLength "auto" \(memoryLimit\): expected \d+ bytes of free memory, got 2600000/,
    ],
    [{ batchSize: 0.5 }, /batchSize to be a whole number from 1, got 0.5/],
    [{ sequences: 0 }, /sequences to be a whole number from 1, got 0/],
    [{ cacheType: "q4_0" }, /cacheType to be "f32" or "f16" or "q8_0", got "q4_0"/],
    [{ activations: "int8" }, /activations to be "ggml" or "half" or "f32", got "int8"/],
  ])("options %j", async (options, message) => {
    await expect(load(tiny, options as object)).rejects.toThrow(message);
  });
});

test("a model without a usable tokenizer computes logits and reports why it cannot encode text", async () => {
  const source = patched(tiny, ["gpt2", "gpt7"]);
  await using model = await loadModel(source, { runtime });
  expect(await model.logits(ids)).toHaveLength(ids.length * 4096);
  expect(model.info.warnings).toEqual([expect.stringContaining('"gpt7"')]);
  expect(() => model.tokenizer).toThrow(TokenizerError);
  await expect(model.createSession().complete("x")).rejects.toThrow(TokenizerError);
});
