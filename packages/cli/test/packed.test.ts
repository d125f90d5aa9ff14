import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRequired, launchChromium } from "@centella/test-devices";
import { preview } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const packages = readdirSync(join(root, "packages")).filter((name) => {
  const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as { readonly private?: boolean };
  return manifest.private !== true;
});
/** What users import. Of the suite that is the part that needs no vitest, which the project has not. */
const entries = packages.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as { readonly exports: object };
  const paths = Object.keys(exports).filter((path) => path !== "./package.json" && !(name === "conformance" && path === "."));
  return paths.map((path) => `@centella/${name}${path.slice(1)}`);
});
/**
 * Packages of others that users have, and whose package has them here: they come from this checkout, so that the test needs no network. Those that
 * are optional are there, too: entries need them.
 */
const outside = [
  ["commander", "cli"],
  ["@huggingface/hub", "cli"],
  ["@modelcontextprotocol/sdk", "cli"],
  ["@ai-sdk/provider", "ai-sdk"],
  ["@ai-sdk/react", "react"],
  ["@langchain/core", "langchain"],
  ["@types/react", "react"],
  ["ai", "react"],
  ["react", "react"],
  ["react-dom", "react"],
  ["vite", "cli"],
] as const;
const project = mkdtempSync(join(tmpdir(), "centella-packed-"));
/** The addon's package for this machine, if there is an addon here. */
const platform = `${process.platform}-${process.arch}`;
const platformFolder = join(root, "packages/backend-cuda/platforms", platform);
const hasAddon = existsSync(platformFolder) && existsSync(join(root, "packages/backend-cuda/build/Release/centella_cuda.node"));
const platforms = hasAddon ? [`backend-cuda-${platform}`] : [];

/** What a user does: tarballs of all packages installed into an empty project. */
beforeAll(() => {
  for (const name of packages) {
    execFileSync("pnpm", ["--dir", join(root, "packages", name), "pack", "--pack-destination", project], { stdio: "ignore" });
  }
  if (hasAddon) execFileSync("pnpm", ["--dir", platformFolder, "pack", "--pack-destination", project], { stdio: "ignore" });
  const tarballs = Object.fromEntries([...packages, ...platforms].map((name) => [`@centella/${name}`, `file:./${tarballOf(name)}`]));
  const linked = Object.fromEntries(
    outside.map(([name, user]) => [name, `link:${realpathSync(join(root, "packages", user, "node_modules", name))}`]),
  );
  const dependencies = { ...tarballs, ...linked };
  const overrides = Object.entries(dependencies);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", type: "module", dependencies }));
  writeFileSync(join(project, "pnpm-workspace.yaml"), ["overrides:", ...overrides.map(([name, at]) => `  "${name}": "${at}"`)].join("\n"));
  execFileSync("pnpm", ["install", "--offline", "--no-frozen-lockfile"], {
    cwd: project,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, CI: "" },
  });
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("the README's example runs on the installed tarballs", () => {
  const [, example] = /```ts\n(import \{ wasm \}[\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  expect(example).toContain("loadModel");
  writeFileSync(join(project, "example.js"), example!);
  const story = node("example.js");
  expect(story.length).toBeGreaterThan(80);
  expect(story).toMatch(/^[\x20-\x7e\n–—‘’“”]+$/);
});

test("the installed command generates the same ids twice for one seed", () => {
  const run = (): { ids: number[]; opsByBackend: Record<string, number> } =>
    JSON.parse(node("node_modules/@centella/cli/bin/centella.cjs", "run", "-n", "8", "--seed", "1", "--backend", "wasm", "--json"));
  const first = run();
  expect(first.ids).toHaveLength(8);
  expect(run().ids).toEqual(first.ids);
  expect(Object.keys(first.opsByBackend)).toEqual(["wasm"]);
});

test("an app of Vite is built without a warning", () => {
  const app = join(project, "app");
  mkdirSync(app);
  const files = {
    "index.html": '<!doctype html><title>app</title><main></main><script type="module" src="./main.js"></script>',
    "main.js": `
      import { createCentella } from "@centella/ai-sdk";
      import { searchHub } from "@centella/gguf/search";
      import { fable } from "@centella/model-fable";
      import { polyfill } from "@centella/prompt-api";
      import { CentellaProvider, useModel } from "@centella/react";
      import { useCentellaChat } from "@centella/react/chat";
      import { createElement } from "react";
      import { createRoot } from "react-dom/client";
      const worker = () => new Worker(new URL("./engine.js", import.meta.url), { type: "module" });
      function App() {
        const { messages } = useCentellaChat(useModel(fable));
        return createElement("p", null, messages.length);
      }
      createRoot(document.querySelector("main")).render(createElement(CentellaProvider, { worker }, createElement(App)));
      Object.assign(globalThis, { createCentella, polyfill, searchHub });`,
    "engine.js": `
      import { wasm } from "@centella/backend-wasm";
      import { webgpu } from "@centella/backend-webgpu";
      import { createRuntime } from "@centella/core";
      import { serveModels } from "@centella/llm/worker/serve";
      serveModels(() => createRuntime({ backends: [webgpu(), wasm({ sync: false })] }));`,
    "build.mjs": `
      import { build, createLogger } from "vite";
      const warnings = [];
      const warn = (text) => warnings.push(text);
      const customLogger = { ...createLogger("silent"), warn, warnOnce: warn, error: warn };
      const { output } = await build({
        root: import.meta.dirname,
        configFile: false,
        logLevel: "warn",
        customLogger,
        worker: { format: "es" },
        build: { chunkSizeWarningLimit: 2000 },
      });
      console.log(JSON.stringify({ warnings, files: output.map(({ fileName }) => fileName) }));`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(app, name), text);
  const { warnings, files: built } = JSON.parse(node("app/build.mjs")) as Record<"warnings" | "files", readonly string[]>;
  // A directive of a library under the AI SDK's hooks, and how long the build took, are not about the packages.
  expect(warnings.filter((warning) => !/PLUGIN_TIMINGS|"use client".*node_modules\/swr\//.test(warning))).toEqual([]);
  expect(built).toEqual(
    expect.arrayContaining(["index.html", expect.stringMatching(/engine-.*\.js$/), expect.stringMatching(/fable-.*\.gguf$/)]),
  );
});

test("a page that Vite builds without configuration computes on WebGPU what Node computes", async ({ skip }) => {
  const browser = await launchChromium();
  if (typeof browser === "string") {
    if (isRequired("webgpu")) throw new Error(browser);
    return skip(browser);
  }
  const app = join(project, "gpuApp");
  mkdirSync(join(app, "public"), { recursive: true });
  copyFileSync(join(root, "packages/model-fable/models/fable-tiny-q8_0.gguf"), join(app, "public/tiny.gguf"));
  const files = {
    "index.html": '<!doctype html><title>app</title><script type="module" src="./main.js"></script>',
    "main.js": `
      import { webgpu } from "@centella/backend-webgpu";
      import { compute } from "./compute.js";
      globalThis.result = compute(webgpu(), new URL("./tiny.gguf", location.href));`,
    "node.mjs": `
      import { wasm } from "@centella/backend-wasm";
      import { compute } from "./compute.js";
      console.log(JSON.stringify(await compute(wasm(), new URL("./public/tiny.gguf", import.meta.url))));`,
    "compute.js": `
      import { createProgram, createRuntime } from "@centella/core";
      import { loadModel } from "@centella/llm";
      export async function compute(backend, file) {
        const runtime = await createRuntime({ backends: [backend], policy: { force: backend.name } });
        const program = createProgram();
        program.output("y", program.matmul(program.input("x", "f32", [2, 3]), program.input("w", "f32", [3, 2])));
        const plan = await runtime.compile(program);
        const { y } = plan.run({ x: Float32Array.of(1, 2, 3, 4, 5, 6), w: Float32Array.of(1, 0, 0, 1, 1, 1) });
        const product = [...(await y.data())];
        const exact = { cacheType: "f32", activations: "f32", contextLength: 64, batchSize: 1 };
        const model = await loadModel(file, { runtime, ...exact });
        const { ids } = await model.createSession().complete({ ids: [0, 2817, 632, 263, 534] }, { temperature: 0, maxTokens: 3 });
        const { backend: name } = model.info;
        await model.dispose();
        await runtime.dispose();
        return { name, product, ids: [...ids] };
      }`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(app, name), text);
  node("node_modules/vite/bin/vite.js", "build", "gpuApp", "--logLevel", "error");
  const inNode = JSON.parse(node("gpuApp/node.mjs")) as object;
  expect(inNode).toMatchObject({ name: "wasm", product: [4, 5, 10, 11], ids: { length: 3 } });
  const server = await preview({ root: app, configFile: false, preview: { port: 0 } });
  try {
    const page = await browser.newPage();
    await page.goto(server.resolvedUrls!.local[0]!);
    expect(await page.evaluate("result")).toEqual({ ...inNode, name: "webgpu" });
  } finally {
    await server.close();
    await browser.close();
  }
});

// Without a C++ compiler no addon was built, and only some platforms have a package for it.
test.skipIf(!hasAddon)("the addon comes with the package of its platform (needs a platform with one, and a C++ compiler)", () => {
  const code = `import { cuda } from "@centella/backend-cuda"; await cuda().open().then(() => console.log("opened"), (e) => console.log(e.message));`;
  writeFileSync(join(project, "addon.mjs"), code);
  expect(node("addon.mjs")).toMatch(/opened|no NVIDIA driver|no NVIDIA GPU/);
  expect(existsSync(join(project, "node_modules/@centella/backend-cuda/build"))).toBe(false);
});

test("every library can be required", () => {
  const libraries = entries.filter((entry) => !entry.endsWith(".wasm"));
  writeFileSync(
    join(project, "require.cjs"),
    `for (const name of ${JSON.stringify(libraries)}) console.log(name, Object.keys(require(name)).length > 0);`,
  );
  expect(node("require.cjs").trim().split("\n")).toEqual(libraries.map((name) => `${name} true`));
});

// apps/bench/budgets.json says how large they may be.
const settings = {
  "a page's project": { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"], types: [] },
  "Node's project without dom": { module: "nodenext", lib: ["es2022"], types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
};

/** Older compilers take ten seconds for the declarations of the AI SDK. */
const newest = "typescript";
const slow = ["@centella/react/chat"];

describe.each(["typescript-5.7", "typescript-5.9", newest])("declarations compile without skipLibCheck by %s", (compiler) => {
  test.each(Object.entries(settings))("in %s", (_name, options) => {
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false };
    const compilerOptions = { ...strict, ...options, target: "es2022", noEmit: true };
    const checked = compiler === newest ? entries : entries.filter((entry) => !slow.includes(entry));
    writeFileSync(join(project, "entries.ts"), checked.map((entry, i) => `export * as entry${i} from "${entry}";\n`).join(""));
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["entries.ts"] }));
    const { stdout } = spawnSync(process.execPath, [join(root, "node_modules", compiler, "bin/tsc"), "-p", "."], {
      cwd: project,
      encoding: "utf8",
    });
    expect(ownErrors(stdout)).toEqual([]);
  });
});

/** What the compiler says of the packages. The declarations of libraries that they adapt to do not compile without `skipLibCheck`. */
function ownErrors(output: string): readonly string[] {
  return output.split("\n").filter((line) => /error TS/.test(line) && /^entries\.ts|\/node_modules\/@centella\//.test(line));
}

test("tarballs hold what they should and nothing else", () => {
  for (const name of packages) {
    const files = execFileSync("tar", ["-tzf", tarballOf(name)], { cwd: project, encoding: "utf8" })
      .trim()
      .split("\n");
    expect(files, name).toEqual(expect.arrayContaining(["package/README.md", "package/LICENSE"]));
    expect(
      files.filter((path) => /tsbuildinfo|\.map$|\/(?:test|src)\//.test(path)),
      name,
    ).toEqual([]);
    // Neither more nor less than the last build wrote: incremental builds leave files of sources that are gone.
    const built = JSON.parse(readFileSync(new URL(`../../${name}/build/dist.json`, import.meta.url), "utf8")) as readonly string[];
    expect(files.filter((path) => path.startsWith("package/dist/")).sort(), name).toEqual(
      built.map((path) => `package/dist/${path}`).sort(),
    );
  }
});

test("published manifests have no entries for the workspace, and say whose they are", () => {
  for (const name of packages) {
    const text = execFileSync("tar", ["-xzOf", tarballOf(name), "package/package.json"], { cwd: project, encoding: "utf8" });
    expect(text, name).not.toMatch(/@centella\/source|workspace:|devDependencies|bundle\.mjs/);
    const url = "https://github.com/centella/centella";
    expect(JSON.parse(text), name).toMatchObject({
      description: expect.stringMatching(/^[A-Z].{20,}/),
      keywords: expect.arrayContaining([expect.any(String)]),
      homepage: `${url}/tree/main/packages/${name}#readme`,
      bugs: { url: `${url}/issues` },
      author: "Centella",
      repository: { type: "git", url: `git+${url}.git`, directory: `packages/${name}` },
    });
  }
});

function tarballOf(name: string): string {
  return readdirSync(project).find((file) => new RegExp(`^centella-${name}-\\d.*\\.tgz$`).test(file))!;
}

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" });
}
