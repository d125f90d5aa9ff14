import { type Backend, type BackendFactory, createRuntime, reference } from "@centella/core";
import type { DeviceMemory } from "@centella/core/backend";
import { readGguf } from "@centella/gguf";
import { beforeAll, describe, expect, test } from "vitest";
import { loadModel, type Model } from "../src/index.ts";
import { familyModel, readFamilyGolden } from "./familyFixture.ts";
import { tiny } from "./modelFiles.ts";

const ids = [0, 2817, 632, 263, 534];
/** Exact, so that split models and whole ones have the same logits. */
const options = { contextLength: 64, cacheType: "f32", activations: "f32" } as const;
/** Share of the free memory that weights and cache may take. */
const usableShare = 0.85;

/** The scalar reference in the role of a GPU with some memory. */
function fakeGpu(memory?: DeviceMemory, own: Partial<Backend> = {}): BackendFactory {
  return disguised({ name: "fakeGpu", device: { kind: "gpu", name: "a fake GPU" }, ...(memory && { deviceMemory: () => memory }), ...own });
}

/** The scalar reference in the role of a CPU backend. */
const fakeCpu = disguised({ name: "fakeCpu" });

function disguised(own: Partial<Backend> & { readonly name: string }): BackendFactory {
  return {
    name: own.name,
    async open(): Promise<Backend> {
      const backend = await reference().open();
      return new Proxy(backend, {
        get(target, key) {
          if (Object.hasOwn(own, key)) return Reflect.get(own, key);
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}

async function loadOn<T>(factories: readonly BackendFactory[], use: (model: Model) => T | Promise<T>, own: object = {}): Promise<T> {
  await using runtime = await createRuntime({ backends: factories });
  await using model = await loadModel(tiny, { runtime, ...options, ...own });
  return await use(model);
}

describe("layers on a GPU", () => {
  /** Bytes of the weights and the cache of a layer. */
  let layer: number;
  /** Bytes of all weights and caches. */
  let all: number;
  let want: Float32Array;
  beforeAll(async () => {
    await using file = await readGguf(tiny);
    const bytesOf = (prefix: string): number =>
      file.tensors.filter(({ name }) => name.startsWith(prefix)).reduce((sum, { bytes }) => sum + bytes, 0);
    const cache = 64 * 2 * (64 + 64) * 4;
    layer = bytesOf("blk.1.") + cache;
    all = bytesOf("") + 2 * cache;
    want = await loadOn([], (model) => model.logits(ids));
  });

  const placed = (memory?: DeviceMemory, own: object = {}) =>
    loadOn(
      [fakeGpu(memory), fakeCpu],
      async (model) => {
        expect(await model.logits(ids)).toEqual(want);
        return model.info;
      },
      own,
    );

  test("are all of them if they fit, or if the device does not report its memory", async () => {
    const fits = await placed({ free: Math.ceil(all / usableShare) + 1 });
    expect(fits).toMatchObject({ backend: "fakeGpu", batchSize: 64 });
    expect(fits.backendReason).toMatch(
      /; all layers on fakeGpu, for \d+\.\d MiB of weights and cache, \d+\.\d MiB of its free memory can be used$/,
    );
    const unknown = await placed();
    expect(unknown.backend).toBe("fakeGpu");
    expect(unknown.backendReason).toMatch(/its free memory is unknown$/);
  });

  test("are as many of the last ones as fit", async () => {
    const first = await placed({ free: Math.ceil((1.5 * layer) / usableShare) });
    expect(first.backend).toBe("fakeGpu + fakeCpu");
    expect(first.backendReason).toMatch(/^1 of 2 layers on fakeGpu, for \d+\.\d MiB of weights and cache, \d+\.\d MiB of its free memory/);
    const none = await placed({ free: Math.floor((0.9 * layer) / usableShare) });
    expect(none.backendReason).toMatch(/^0 of 2 layers on fakeGpu, for 0\.0 MiB/);
    // The output matrix is the table of embeddings, too.
    const most = await placed({ free: Math.floor((all - 1) / usableShare) });
    expect(most.backendReason).toMatch(/^2 of 2 layers on fakeGpu/);
  });

  test("leave room for a draft model on the same device", async () => {
    const memory = { free: Math.ceil((1.5 * all) / usableShare) };
    expect((await placed(memory)).backend).toBe("fakeGpu");
    const drafted = await placed(memory, { draft: { source: tiny } });
    expect(drafted.backendReason).toMatch(/^[012] of 2 layers on fakeGpu/);
    expect(drafted.draft?.backend).toBe("fakeGpu");
    await using other = await createRuntime({ backends: [] });
    expect((await placed(memory, { draft: { source: tiny, runtime: other } })).backend).toBe("fakeGpu");
  });

  test("have no tensor that is over the device's limit", async () => {
    // The embeddings have 4096 rows of 256, larger than any matrix of a layer.
    const info = await placed({ largestTensor: 1_000_000 });
    expect(info.backendReason).toMatch(/^2 of 2 layers on fakeGpu, .*its free memory is unknown$/);
    // A device that reads the embeddings by rows can have them.
    const byRows = fakeGpu({ largestTensor: 1_000_000 }, { rowsAtOnce: ({ shape: [rows] }) => (rows === 4096 ? 256 : undefined) });
    expect((await loadOn([byRows, fakeCpu], (model) => model.info, { layersOnGpu: "auto" })).backend).toBe("fakeGpu");
  });

  test("are all of them if the rest would be computed by the scalar reference", async () => {
    const info = await loadOn([fakeGpu({ free: layer })], (model) => model.info);
    expect(info.backend).toBe("fakeGpu");
    expect(info.backendReason).toMatch(/; all layers on fakeGpu, although not all fit: no CPU backend but the reference is open$/);
  });

  test('a wanted number of them rules "auto" out', async () => {
    const memory = { free: 2 * all };
    expect((await placed(memory, { layersOnGpu: 1 })).backendReason).toBe("1 of 2 layers on fakeGpu, as layersOnGpu asks");
    expect((await placed(memory, { layersOnGpu: "auto" })).backend).toBe("fakeGpu");
  });

  test("split ones take the CPU's default of activations and of the batch", async () => {
    const own = { contextLength: 1024, activations: undefined, cacheType: "f16" };
    const split = await loadOn([fakeGpu({ free: 1.2e6 }), fakeCpu], ({ info }) => info, own);
    expect(split).toMatchObject({ backend: "fakeGpu + fakeCpu", batchSize: 512, activations: "ggml" });
  });
});

test('the context "auto" is shortened down to 4096 tokens before layers leave the GPU', async () => {
  const golden = readFamilyGolden("xverse");
  const metadata = golden.metadata.map(([key, type, value]) => [key, type, key.endsWith(".context_length") ? 16_384 : value] as const);
  const file = familyModel({ ...golden, metadata });
  const loaded = async (free: number, own: object = {}) => {
    await using runtime = await createRuntime({ backends: [fakeGpu({ free }), fakeCpu] });
    await using model = await loadModel(file, { runtime, contextLength: "auto", memoryLimit: 2 ** 30, ...own });
    return model.info;
  };
  const all = await loaded(2 ** 40);
  expect(all).toMatchObject({ contextLength: 16_384, backend: "fakeGpu" });
  const half = await loaded((all.memory.weights + all.memory.cache / 2) / usableShare + 1000);
  expect(half).toMatchObject({ contextLength: 8192, contextReason: "auto: the device had no memory for 16384", backend: "fakeGpu" });
  expect(await loaded(1000)).toMatchObject({ contextLength: 4096, backend: "fakeGpu + fakeCpu" });
  expect(await loaded(2 ** 40, { layersOnGpu: 1 })).toMatchObject({ contextLength: 16_384, backend: "fakeGpu + fakeCpu" });
});

describe("the default number of prompt tokens per run", () => {
  let long: Uint8Array<ArrayBuffer>;
  beforeAll(() => {
    const golden = readFamilyGolden("xverse");
    const metadata = golden.metadata.map(([key, type, value]) => [key, type, key.endsWith(".context_length") ? 4096 : value] as const);
    long = familyModel({ ...golden, metadata });
  });

  async function batchSize(factories: readonly BackendFactory[], own: object = {}): Promise<number> {
    await using runtime = await createRuntime({ backends: factories });
    await using model = await loadModel(long, { runtime, ...own });
    return model.info.batchSize;
  }

  test("is 2048 on a GPU, at most the context, and 512 elsewhere", async () => {
    expect(await batchSize([fakeGpu()])).toBe(2048);
    expect(await batchSize([fakeGpu(undefined, { preferredRows: 4096 })])).toBe(4096);
    expect(await batchSize([fakeGpu()], { contextLength: 1000 })).toBe(1000);
    expect(await batchSize([fakeGpu()], { batchSize: 7 })).toBe(7);
    expect(await batchSize([])).toBe(512);
  });

  test("is smaller where the tensors of a run would be over the device's limit", async () => {
    const unlimited = await batchSize([fakeGpu({ largestTensor: 2 ** 40 })]);
    const limits = [17, 18, 19, 20].map((bits) => 2 ** bits);
    const sizes = [];
    for (const largestTensor of limits) sizes.push(await batchSize([fakeGpu({ largestTensor })]));
    expect(unlimited).toBe(2048);
    expect(new Set(sizes)).toContain(1024);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  });
});
