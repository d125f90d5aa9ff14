import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import { expect, test } from "vitest";
import { strongAdapter } from "../../llm/test/strongAdapter.ts";
import { type Loading, servedModels } from "../src/serve/servedModels.ts";
import { serveOptions } from "../src/serve/serveOptions.ts";
import { tiny } from "./centella.ts";
import { parse } from "./parse.ts";

const models = { files: [`story=${tiny}`, `other=${tiny}`], folder: undefined, alias: undefined, isLazy: true };
const unopened: Loading = { options: {}, load: undefined as never, idleMs: undefined, everywhere: [] };

test("an adapter with a name is a model next to its base", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  const path = join(folder, "sea.gguf");
  writeFileSync(path, await strongAdapter(tiny));
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
  expect(Object.entries(loaders).map(([name, { isLazy, adapters }]) => [name, isLazy, adapters])).toEqual([
    ["story", true, { sea: 1 }],
    ["other", true, { hill: 0.5 }],
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
