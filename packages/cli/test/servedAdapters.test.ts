import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { readGguf, writeGguf } from "@centella/gguf";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import { expect, test } from "vitest";
import { type Loading, servedModels } from "../src/serve/servedModels.ts";
import { serveOptions } from "../src/serve/serveOptions.ts";
import { tiny } from "./centella.ts";
import { parse } from "./parse.ts";

const models = { files: [`story=${tiny}`, `other=${tiny}`], folder: undefined, alias: undefined, isLazy: true };
const unopened: Loading = { options: {}, load: undefined as never, idleMs: undefined, everywhere: [] };

/** Writes an adapter that changes the first layer much. */
async function writeAdapter(path: string): Promise<void> {
  const name = "blk.0.ffn_down.weight";
  await using file = await readGguf(tiny);
  const [rows, columns] = file.tensors.find((tensor) => tensor.name === name)!.shape as [number, number];
  const tensor = (suffix: string, shape: readonly number[], values: Float32Array) => ({
    name: name + suffix,
    type: "f32" as const,
    shape,
    data: new Uint8Array(values.buffer),
  });
  const ramp = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => (((i * 7919) % 31) - 15) / 15);
  const pieces: Uint8Array[] = [];
  const metadata = [
    { key: "general.architecture", type: "string" as const, value: "llama" },
    { key: "general.type", type: "string" as const, value: "adapter" },
    { key: "adapter.type", type: "string" as const, value: "lora" },
    { key: "adapter.lora.alpha", type: "f32" as const, value: 4 },
  ];
  const tensors = [tensor(".lora_a", [2, columns], ramp(2 * columns)), tensor(".lora_b", [rows, 2], ramp(2 * rows))];
  await writeGguf({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) }, { metadata, tensors });
  writeFileSync(path, Buffer.concat(pieces));
}

test("an adapter with a name is a model next to its base", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  const path = join(folder, "sea.gguf");
  await writeAdapter(path);
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  const { values } = await parse(serveOptions, "--lora", `sea=${path}`, "--lora", `other:hill=${path}:0.5`);
  const loaders = servedModels(
    { ...models, adapters: values.lora! },
    {
      ...unopened,
      options: { contextLength: 256 },
      load: (source, options, context) => loadModel(source, { ...options, ...context, runtime }),
    },
  );
  expect(Object.entries(loaders).map(([name, { isLazy, adapter }]) => [name, isLazy, adapter])).toEqual([
    ["story", true, undefined],
    ["other", true, undefined],
    ["story:sea", true, { base: "story", scale: undefined }],
    ["other:hill", true, { base: "other", scale: 0.5 }],
  ]);
  const handler = createHandler({ models: loaders });
  const textOf = async (model: string): Promise<string> => {
    const body = JSON.stringify({ model, prompt: "The fox", max_tokens: 8, temperature: 0 });
    const response = await handler.fetch(new Request("http://localhost/v1/completions", { method: "POST", body }));
    const { choices } = (await response.json()) as { choices: { text: string }[] };
    return choices[0]!.text;
  };
  const [base, adapted] = [await textOf("story"), await textOf("story:sea")];
  expect(adapted).not.toBe(base);
  expect(await textOf("other:hill")).not.toBe(base);
  expect(await textOf("other")).toBe(base);
  expect(await textOf("story:sea")).toBe(adapted);
  await handler.close();
  await runtime.dispose();
  rmSync(folder, { recursive: true });
});

test("the base of an adapter is a model of the server", async () => {
  const { values } = await parse(serveOptions, "--lora", "a.gguf:2", "--lora", "b.gguf");
  expect(values.lora).toEqual([{ source: "a.gguf", scale: 2 }, { source: "b.gguf" }]);
  const serve = (adapters: Parameters<typeof servedModels>[0]["adapters"]) => () => servedModels({ ...models, adapters }, unopened);
  expect(serve([{ source: "a", name: "x", base: "y" }])).toThrow("--lora: expected the base to be one of story, other, got y");
  expect(
    serve([
      { source: "a", name: "x" },
      { source: "b", name: "x" },
    ]),
  ).toThrow("two of the name story:x");
});
