import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { contentOf, readGguf, type TensorContent, type WritableEntry, writeGguf } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AdapterOptions, loadModel, ModelError } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";
import { relativeError } from "./vectors.ts";

const ids = [0, 2817, 632, 263, 534, 700, 41, 9];
const [alpha, rank] = [6, 3];
const adapted = [
  "token_embd.weight",
  "blk.0.attn_q.weight",
  "blk.0.attn_v.weight",
  "blk.1.attn_output.weight",
  "blk.1.ffn_down.weight",
  "output.weight",
];

let runtime: Runtime;
let base: Map<string, { readonly shape: readonly number[]; readonly values: Float32Array }>;
let metadata: readonly WritableEntry[];
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm()] });
  await using file = await readGguf(tiny);
  ({ metadata } = contentOf(file));
  base = new Map();
  for (const tensor of file.tensors) base.set(tensor.name, { shape: tensor.shape, values: await file.readTensorF32(tensor) });
  // An output layer of its own, so that the table's adapter can be merged into the table.
  base.set("output.weight", base.get("token_embd.weight")!);
});
afterAll(() => runtime.dispose());

async function written(tensors: readonly TensorContent[], entries: readonly WritableEntry[]): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await writeGguf({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) }, { metadata: entries, tensors });
  return Buffer.concat(pieces);
}

const f32 = (name: string, shape: readonly number[], values: Float32Array): TensorContent => ({
  name,
  type: "f32",
  shape,
  data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
});

const modelOf = (change: (name: string, values: Float32Array, shape: readonly number[]) => Float32Array): Promise<Uint8Array> =>
  written(
    [...base].map(([name, { shape, values }]) => f32(name, shape, change(name, values, shape))),
    metadata,
  );

/** Small numbers that look random and depend on the seed only. */
function noise(count: number, seed: number): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 32 - 0.5) / 4;
  });
}

/** A of `[rank, k]` and B of `[n, rank]` for a weight `[n, k]`; a table's A is `[n, rank]`, its B `[k, rank]`. */
function factors(name: string, seed: number): { a: TensorContent; b: TensorContent; delta: Float64Array } {
  const [n, k] = base.get(name)!.shape as [number, number];
  const isTable = name.startsWith("token_embd");
  const a = noise(rank * (isTable ? n : k), seed);
  const b = noise(rank * (isTable ? k : n), seed + 1);
  const delta = new Float64Array(n * k);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < k; column++) {
      let sum = 0;
      for (let r = 0; r < rank; r++) {
        sum += isTable ? a[row * rank + r]! * b[column * rank + r]! : b[row * rank + r]! * a[r * k + column]!;
      }
      delta[row * k + column] = sum;
    }
  }
  return {
    a: f32(`${name}.lora_a`, isTable ? [n, rank] : [rank, k], a),
    b: f32(`${name}.lora_b`, isTable ? [k, rank] : [n, rank], b),
    delta,
  };
}

const header = (changes: Record<string, string | number | undefined> = {}): readonly WritableEntry[] =>
  Object.entries({
    "general.architecture": "llama",
    "general.type": "adapter",
    "adapter.type": "lora",
    "adapter.lora.alpha": alpha,
    ...changes,
  }).flatMap(([key, value]): WritableEntry[] => {
    if (value === undefined) return [];
    return [typeof value === "string" ? { key, type: "string", value } : { key, type: "f32", value }];
  });

const adapterOf = (names: readonly string[], seed: number, changes?: Parameters<typeof header>[0]): Promise<Uint8Array> =>
  written(
    names.flatMap((name, i) => {
      const { a, b } = factors(name, seed + 10 * i);
      return [a, b];
    }),
    header(changes),
  );

const load = (source: Uint8Array, adapters?: readonly AdapterOptions[]) =>
  loadModel(source, { runtime, contextLength: 64, cacheType: "f32", ...(adapters && { adapters }) });

async function logitsOf(source: Uint8Array, adapters?: readonly AdapterOptions[]): Promise<Float32Array> {
  await using model = await load(source, adapters);
  return await model.logits(ids);
}

describe("LoRA adapters", () => {
  test("compute the same as weights with the products added", async () => {
    const plain = await modelOf((_, values) => values);
    const merged = await modelOf((name, values) => {
      const at = adapted.indexOf(name);
      if (at < 0) return values;
      const { delta } = factors(name, 100 + 10 * at);
      return values.map((value, i) => value + 0.5 * (alpha / rank) * delta[i]!);
    });
    const expected = await logitsOf(merged);
    const got = await logitsOf(plain, [{ source: await adapterOf(adapted, 100), scale: 0.5 }]);
    expect(relativeError(got, expected)).toBeLessThan(1e-5);
    expect(relativeError(await logitsOf(plain), expected)).toBeGreaterThan(0.05);
  });

  test("add up, also to quantised weights", async () => {
    const names = ["blk.0.attn_q.weight", "blk.1.ffn_up.weight"];
    const first = await adapterOf(names, 7, { "adapter.lora.alpha": undefined });
    const second = await adapterOf(names.slice(1), 8);
    const open = async (adapters: readonly AdapterOptions[]) => {
      await using model = await loadModel(tiny, { runtime, contextLength: 64, cacheType: "f32", activations: "f32", adapters });
      return await model.logits(ids);
    };
    const merged = await modelOf((name, values) => {
      const parts = [
        ...(names.includes(name) ? [{ delta: factors(name, 7 + 10 * names.indexOf(name)).delta, scale: 1 }] : []),
        ...(name === names[1] ? [{ delta: factors(name, 8).delta, scale: -alpha / rank }] : []),
      ];
      return values.map((value, i) => parts.reduce((sum, { delta, scale }) => sum + scale * delta[i]!, value));
    });
    const got = await open([{ source: first }, { source: second, scale: -1 }]);
    expect(relativeError(got, await logitsOf(merged))).toBeLessThan(1e-5);
    expect(await open([{ source: first, scale: 0 }])).toEqual(await open([]));
  });

  test("affect embeddings and the identity of saved sessions", async () => {
    const plain = await modelOf((_, values) => values);
    const source = await adapterOf(["output.weight", "blk.0.attn_v.weight"], 5);
    await using model = await load(plain);
    await using tuned = await load(plain, [{ source }]);
    expect((await tuned.embed([{ ids }]))[0]).not.toEqual((await model.embed([{ ids }]))[0]);
    const session = tuned.createSession();
    await session.complete({ ids }, { temperature: 0, maxTokens: 2 });
    const bytes = await session.save();
    await tuned.restoreSession(bytes);
    await expect(model.restoreSession(bytes)).rejects.toMatchObject({ reason: "otherModel" });
  });

  test.each([
    [{ "general.type": "model" }, /expected general.type = adapter, got model/],
    [{ "general.type": undefined }, /got no such key; pass a LoRA adapter/],
    [{ "adapter.type": "dora" }, /expected adapter.type = lora, got dora/],
    [{ "general.architecture": "qwen2" }, /expected general.architecture = llama, got qwen2/],
    [{ "adapter.lora.alpha": Number.NaN }, /a finite f32 for adapter.lora.alpha, got NaN/],
    [{ "general.type": "\u001b[2J" }, /got \\u001b\[2J;/],
  ])("metadata %j is refused", async (changes, message) => {
    const loading = load(await modelOf((_, values) => values), [{ source: await adapterOf(["blk.0.attn_q.weight"], 1, changes) }]);
    await expect(loading).rejects.toThrow(ModelError);
    await expect(loading).rejects.toThrow(message);
  });

  test("factors with wrong shapes, without a partner or for unknown weights are named in the error", async () => {
    const { a, b } = factors("blk.0.attn_q.weight", 1);
    const plain = await modelOf((_, values) => values);
    const refusal = async (tensors: readonly TensorContent[]) => load(plain, [{ source: await written(tensors, header()) }]);
    await expect(refusal([a, { ...b, shape: [128, 6] }])).rejects.toThrow(/adapter: .*blk\.0\.attn_q\.weight\.lora_/);
    await expect(refusal([b])).rejects.toThrow(
      /adapter: expected these tensors, got none of them \(blk\.0\.attn_q\.weight\.lora_a \[3, 256\]\)/,
    );
    await expect(refusal([a])).rejects.toThrow(/adapter: expected only tensors.*blk\.0\.attn_q\.weight\.lora_a/);
    await expect(refusal([a, b, { ...a, name: "blk.7.attn_q.weight.lora_a" }])).rejects.toThrow(
      /got \(blk\.7\.attn_q\.weight\.lora_a\)|blk\.7/,
    );
    await expect(load(plain, [{ source: await adapterOf(adapted, 1), scale: Number.NaN }])).rejects.toThrow(/adapters.scale/);
  });
});
