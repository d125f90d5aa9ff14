import { createRuntime, type Runtime } from "@centella/core";
import { type Metadata, type MetadataValue, readGguf } from "@centella/gguf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeGguf } from "../../gguf/test/writer.ts";
import { loadModel } from "../src/index.ts";
import { readFloats, relativeError } from "./modelFiles.ts";
import { describeShared, shared } from "./shared.ts";

const few = Array.from({ length: 12 }, (_, i) => i + 1);
let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [] });
});
afterAll(() => runtime.dispose());

/** The file of one family as a file of another: its numbers and flags under the other's keys, its tensors under other names. */
async function renamed(
  from: string,
  to: string,
  { tensor = (name) => name, extra = {} }: { readonly tensor?: (name: string) => string; readonly extra?: Record<string, boolean> },
): Promise<Uint8Array> {
  await using file = await readGguf(shared(`data/archs/${from}-dense.gguf`));
  const tensors = [];
  for (const info of file.tensors) {
    tensors.push({ name: tensor(info.name), type: info.type, shape: info.shape, data: await file.readTensor(info) });
  }
  return writeGguf({ metadata: [["general.architecture", "string", to], ...entries(file.metadata, from, to, extra)], tensors });
}

type Entry = [key: string, type: "f64" | "bool" | "u32", value: number | boolean];

function entries(metadata: Metadata, from: string, to: string, extra: Record<string, boolean>): Entry[] {
  const own = Array.from(metadata.keys()).filter((key) => key.startsWith(`${from}.`));
  const values = own.map((key): [string, MetadataValue] => [key.slice(from.length), metadata.get(key)!]);
  const all = new Map<string, MetadataValue>([...values, ...Object.entries(extra)]);
  return Array.from(all).flatMap(([key, value]): Entry[] => {
    if (typeof value === "boolean") return [[`${to}${key}`, "bool", value]];
    if (typeof value !== "number") return [];
    return [[`${to}${key}`, Number.isInteger(value) && value >= 0 ? "u32" : "f64", value]];
  });
}

describeShared("families that compute what a verified one does, on its file under their names", () => {
  test.each([
    ["smollm3", "internlm2", {}],
    ["smollm3", "ernie4_5", {}],
    ["smollm3", "xverse", {}],
    ["qwen2", "seed_oss", { tensor: (name: string) => name.replace("ffn_norm", "post_attention_norm") }],
    ["starcoder2", "gptneox", { extra: { ".use_parallel_residual": false } }],
    ["phi2", "gptneox", { extra: { ".use_parallel_residual": true } }],
    ["phi2", "falcon", {}],
  ])("%s as %s", async (from, to, options) => {
    await using model = await loadModel(await renamed(from, to, options), { runtime, cacheType: "f32" });
    expect(model.info).toMatchObject({ architecture: to, isVerified: false });
    expect(relativeError(await model.logits(few), readFloats(`data/archs/${from}-dense.logits.f32`))).toBeLessThan(1e-4);
  });
});
