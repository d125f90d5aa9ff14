import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { appFolder, repositoryFolder } from "../src/receipts/store.ts";

/** Each entry of the packages: its bundle for Node, the module that it was made of, and bundles for other hosts. */
const bundled = readdirSync(join(repositoryFolder, "packages")).flatMap((folder) => {
  const path = join(repositoryFolder, "packages", folder);
  const { name, exports = {} } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports?: Readonly<Record<string, { readonly "@centella/source"?: string; readonly node?: string; readonly default: string }>>;
  };
  return Object.entries(exports).flatMap(([key, { "@centella/source": source, node, default: bundle }]) => {
    if (source === undefined || !existsSync(join(path, "build/dist.json"))) return [];
    const module = source.replace("./src/", "build/esm/").replace(/\.ts$/, ".js");
    const others = node === undefined ? [] : [join(path, bundle)];
    return [{ specifier: `${name}${key.slice(1)}`, bundle: join(path, node ?? bundle), modules: join(path, module), others }];
  });
});

/** What a script prints as JSON that runs in Node without vitest, where packages are found as apps find them. */
async function inNode(script: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { cwd: appFolder });
  return JSON.parse(stdout);
}

describe("bundles", () => {
  test.each(bundled)("$specifier is found there and exports what its modules do", async ({ specifier, bundle, modules, others }) => {
    expect([bundle, modules, ...others].filter((path) => !existsSync(path))).toEqual([]);
    const names = (from: string): string => `Object.keys(await import(${JSON.stringify(from)})).sort()`;
    const found = await inNode(
      `console.log(JSON.stringify([import.meta.resolve("${specifier}"), ${[specifier, ...[modules, ...others].map((path) => pathToFileURL(path).href)].map(names)}]))`,
    );
    const [url, own, ...same] = found as readonly unknown[];
    expect(url).toBe(pathToFileURL(bundle).href);
    expect(own).toEqual(expect.arrayContaining([expect.any(String)]));
    expect(same).toEqual(same.map(() => own));
  });

  test("a class is one, whichever package or export it comes through", async () => {
    const script = `
      import { CentellaError, createRuntime, ShapeError } from "@centella/core";
      import { readGguf } from "@centella/gguf";
      import { wasm } from "@centella/backend-wasm";
      import * as emit from "@centella/backend-wasm/emit";
      import { ModelError } from "@centella/llm";
      import { loadModel } from "@centella/llm/worker";
      import { quantize, QuantError } from "@centella/quant";
      import { Worker } from "node:worker_threads";
      const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
      const caught = [];
      const [x, y] = [2, 3].map((length) => runtime.tensor(new Float32Array(length)));
      try { await runtime.add(x, y); } catch (error) { caught.push(error instanceof ShapeError, error.name); }
      try { quantize("q4_0", new Float32Array(3)); } catch (error) { caught.push(error instanceof QuantError, error.name); }
      try { await readGguf(new Uint8Array(8)); } catch (error) { caught.push(error instanceof CentellaError, error.name); }
      await runtime.dispose();
      const serving = 'import { serveModels } from "@centella/llm/worker/serve"; import { ModelError } from "@centella/llm";'
        + 'serveModels(() => { throw new ModelError("none"); });';
      const worker = new Worker(serving, { eval: true, execArgv: ["--input-type=module"] });
      try { await loadModel("../../packages/model-fable/models/fable-tiny-q8_0.gguf", { worker }); } catch (error) { caught.push(error instanceof ModelError, error.name); }
      await worker.terminate();
      console.log(JSON.stringify([caught, new emit.ModuleBuilder({}).constructor.name]));
    `;
    expect(await inNode(script)).toEqual([
      [true, "ShapeError", true, "QuantError", true, "GgufError", true, "ModelError"],
      "ModuleBuilder",
    ]);
  });

  test("generating text starts from few files", async () => {
    const script = `
      import { registerHooks } from "node:module";
      const urls = [];
      registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
      const { createRuntime } = await import("@centella/core");
      const { wasm } = await import("@centella/backend-wasm");
      const { loadModel } = await import("@centella/llm");
      const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
      const model = await loadModel("../../packages/model-fable/models/fable-tiny-q8_0.gguf", { runtime });
      const { text } = await model.createSession().complete("Tell me", { temperature: 0, maxTokens: 1 });
      await model.dispose();
      await runtime.dispose();
      console.log(JSON.stringify({ text, files: urls.filter((url) => url.startsWith("file:")).length }));
    `;
    const { text, files } = (await inNode(script)) as { readonly text: string; readonly files: number };
    expect(text).not.toBe("");
    // In one file each for Node: backend-wasm, and llm with what draft models, rerankers or encoders need.
    expect(files).toBeLessThan(40);
  });
});
