import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import { afterEach, expect, test, vi } from "vitest";
import { serveHub } from "../../gguf/test/faultyHub.ts";
import { hubLibrary } from "../src/serve/hubLibrary.ts";
import { type Loading, servedModels } from "../src/serve/servedModels.ts";
import { tiny } from "./centella.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("only references of the hub are names", () => {
  const { nameOf } = hubLibrary({} as Loading);
  for (const name of ["hf:o/r", "hf:o/r:Q4_K_M", "hf:o/r@main:Q4_K_M", "hf:o/r/a/b.gguf"]) expect(nameOf(name)).toBe(name);
  expect(nameOf("hf.co/o/r:Q4_K_M")).toBe("hf:o/r:Q4_K_M");
  const wrong = [
    "llama3",
    "hf:o",
    "hf:../r",
    "hf:o/r/../x.gguf",
    "hf:o/r/x.bin",
    "https://a/b.gguf",
    "/x.gguf",
    "file:///x.gguf",
    "hf:o/r x",
  ];
  for (const name of wrong) expect(nameOf(name), name).toBeUndefined();
});

test("a model of the hub is loaded by the first request that names it, and removed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  await using hub = await serveHub({ "model-Q4_K_M.gguf": readFileSync(tiny) }, () => "none");
  vi.stubEnv("HF_ENDPOINT", hub.url.href);
  vi.stubEnv("XDG_CACHE_HOME", folder);
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  const loading: Loading = {
    options: { contextLength: 128 },
    load: (source, options, context) => loadModel(source, { ...options, ...context, runtime }),
    idleMs: undefined,
    everywhere: [],
  };
  const models = servedModels({ files: [tiny], folder: undefined, alias: "fable", isLazy: true, adapters: [] }, loading);
  const handler = createHandler({ models, library: hubLibrary(loading) });
  const post = (path: string, body: object, method = "POST"): Promise<Response> =>
    handler.fetch(new Request(`http://localhost${path}`, { method, body: JSON.stringify(body) }));
  const complete = (model: string): Promise<Response> => post("/v1/completions", { model, prompt: "The fox", max_tokens: 1 });
  const name = "hf:owner/repo:Q4_K_M";
  expect((await complete("hf:owner/repo:Q9_K_M")).status).toBe(404);
  const lines = (await (await post("/api/pull", { model: name })).text()).trim().split("\n");
  expect(JSON.parse(lines.at(-1)!)).toEqual({ status: "success" });
  expect((await complete(name)).status).toBe(200);
  expect((await post("/api/delete", { model: name }, "DELETE")).status).toBe(200);
  expect((await post("/api/delete", { model: name }, "DELETE")).status).toBe(404);
  await handler.close();
  await runtime.dispose();
  rmSync(folder, { recursive: true });
});
