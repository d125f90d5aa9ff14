import { execFile } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);

/**
 * What each snippet prints when it is run on the built packages, in a folder with a small model as `model.gguf`; or why its types alone
 * are checked.
 */
const snippets: Readonly<Record<string, RegExp | string>> = {
  "README 1": "packages/cli/test/packed.test.ts runs it on the installed tarballs",
  "README 2": /^$/,
  "backend-cuda 1": "needs an NVIDIA GPU",
  "backend-wasm 1": /^Float32Array\(4\) \[ 1\.5, 1\.5, 1\.5, 1\.5 \]\n$/,
  "backend-wasm 2": "needs a host that imports WebAssembly modules",
  "backend-webgpu 1": "needs a GPU",
  "backend-webgpu 2": "needs a GPU",
  "conformance 1": "needs a backend of the reader's own, and vitest around it",
  "conformance 2": /^$/,
  "core 1": "packages/core/test/readme.test.ts compares what it logs",
  "core 2": "packages/core/test/readme.test.ts compares what it logs",
  "core 3": "packages/core/test/readme.test.ts compares what it logs",
  "core 4": "packages/core/test/readme.test.ts compares what it logs",
  "gpu-kernels 1": /^$/,
  "gguf 1": /llama 4096\n\[ 4096, 256 \] 1048576\n$/,
  "gguf 2": "needs the network",
  "llm 1": /\n(length|stop|eos), [\d.]+ tokens\/s on wasm\n$/,
  "llm 2": "is a worker's script, which packages/llm/test/worker.test.ts starts",
  "llm 3": "needs a page with that worker; packages/llm/test/modelChromium.test.ts has one",
  "llm 4": "takes minutes",
  "model-fable 1": /^[A-Z].{200}/s,
  "quant 1": /^0\.8414\d* 0\.8424\d*\n$/,
};

/** What snippets take from those before, where they use it and do not make it themselves. */
const before: Readonly<Record<string, string>> = {
  backend: 'const backend = await (await import("@centella/core")).reference().open();',
  runtime: 'const runtime = await (await import("@centella/core")).createRuntime({ backends: [] });',
  model: 'const model = await (await import("@centella/llm")).loadModel("model.gguf", { runtime: undefined! });',
  wasm: 'const { wasm } = await import("@centella/backend-wasm");',
};

const found = new Map(["README.md", ...globSync("packages/*/README.md", { cwd: root })].flatMap(snippetsOf));

/** Stands for a backend of the reader's own. */
const ownBackend = 'export { reference as mine } from "@centella/core";';

/** Beside the built code, from where the packages are found. */
let project: string;
let folder: string;
beforeAll(() => {
  mkdirSync(join(root, "apps/bench/dist"), { recursive: true });
  project = mkdtempSync(join(root, "apps/bench/dist/readmes-"));
  folder = join(project, "test");
  for (const name of ["src", "test"]) mkdirSync(join(project, name));
  writeFileSync(join(project, "src/index.ts"), ownBackend);
  copyFileSync(join(root, "packages/model-fable/models/fable-tiny-q8_0.gguf"), join(folder, "model.gguf"));
  for (const [name, code] of found) writeFileSync(join(folder, fileOf(name)), code);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("snippets of the READMEs", () => {
  test("none is left out", () => {
    expect([...found.keys()].sort()).toEqual(Object.keys(snippets).sort());
  });

  test("fit the types of the built packages", async () => {
    const checks = { strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true };
    const compilerOptions = { ...checks, target: "esnext", module: "nodenext", types: ["node"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
    const checked = run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]).catch((error) => error);
    expect((await checked).stdout).toBe("");
  }, 60_000);

  test.each(Object.entries(snippets).filter(([, expected]) => typeof expected !== "string"))(
    "%s prints what it should",
    async (name, expected) => {
      const { stdout, stderr } = await run(process.execPath, [fileOf(name)], { cwd: folder });
      expect(stdout).toMatch(expected);
      expect(stderr).toBe("");
    },
    60_000,
  );
});

function snippetsOf(path: string): readonly (readonly [name: string, code: string])[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```/gm)].map(([, code], index) => {
    const missing = Object.keys(before).filter((name) => uses(code!, name) && !makes(code!, name));
    return [
      `${path.split("/").at(-2) ?? "README"} ${index + 1}`,
      [...missing.map((name) => before[name]!), code!, "export {};"].join("\n"),
    ];
  });
}

function uses(code: string, name: string): boolean {
  return new RegExp(`(?<![.\\w"/-])${name}\\b(?!")`).test(code);
}

function makes(code: string, name: string): boolean {
  return new RegExp(`\\b(?:const|using) ${name}\\b|import \\{[^}]*\\b${name}\\b`).test(code);
}

function fileOf(name: string): string {
  return `${name.replace(" ", "-")}.mts`;
}
