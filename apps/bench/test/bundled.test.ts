import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { launchChromium } from "@centella/test-devices";
import { type BuildOptions, build } from "esbuild";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { appFolder, repositoryFolder } from "../src/receipts/store.ts";

// An app as users write it, as bundlers make it, on pages as servers serve them.
const app = `
  import { wasm } from "@centella/backend-wasm";
  import { createRuntime } from "@centella/core";
  import { loadModel } from "@centella/llm";
  const tell = (result) => { globalThis.result = result; };
  (async () => {
    const runtime = await createRuntime({ backends: [wasm({ threads: THREADS, sync: false })] });
    const model = await loadModel(new URL("/model.gguf", location.href), { runtime });
    let text = "";
    for await (const part of model.createSession().generate("Tell me a story about a cat.", { maxTokens: 12, temperature: 0 }))
      if (part.type === "text") text += part.text;
    const { backend, device, warnings } = model.info;
    tell({ text, backend, device, warnings });
    await model.dispose();
  })().catch((error) => tell({ error: String(error) }));
`;

interface Result {
  readonly text?: string;
  readonly backend?: string;
  readonly device?: string;
  readonly warnings?: readonly string[];
  readonly error?: string;
}

const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const model = readFileSync(join(repositoryFolder, "packages/model-fable/models/fable-tiny-q8_0.gguf"));

let browser: Awaited<ReturnType<typeof launchChromium>> = "not started";
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(async () => {
  if (typeof browser !== "string") await browser.close();
});

async function bundle(options: BuildOptions, threads: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    stdin: { contents: app.replace("THREADS", threads), resolveDir: appFolder },
    bundle: true,
    format: "esm",
    platform: "browser",
    outdir: "/",
    entryNames: "main",
    logLevel: "silent",
    ...options,
    write: false,
  });
  return new Map(outputFiles.map(({ path, contents }) => [path.replace(/^.*\//, "/"), contents]));
}

/** Serves files; what is not there is 404. */
async function serve(files: ReadonlyMap<string, Uint8Array>, headers: Readonly<Record<string, string>>): Promise<Server> {
  const server = createServer(({ url = "/" }, response) => {
    const page = Buffer.from('<!doctype html><meta charset="utf-8"><script type="module" src="/main.js"></script>');
    const body = url === "/" ? page : url === "/model.gguf" ? model : files.get(url);
    const type = url === "/" ? "text/html" : url.endsWith(".js") ? "text/javascript" : "application/octet-stream";
    response.writeHead(body === undefined ? 404 : 200, { ...headers, "content-type": type, "content-length": body?.length ?? 0 }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  return server;
}

/** What the app tells on such a page; a page's policy forbids the test to evaluate text there. */
async function visit(
  { skip }: TestContext,
  {
    options = {},
    threads = '"auto"',
    headers = isolated,
  }: { options?: BuildOptions; threads?: string; headers?: Readonly<Record<string, string>> },
): Promise<Result> {
  if (typeof browser === "string") return skip(browser);
  const server = await serve(await bundle(options, threads), headers);
  const page = await browser.newPage();
  try {
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    for (;;) {
      const result = await page.evaluate(() => (globalThis as { result?: Result }).result);
      if (result !== undefined) return result;
      await page.waitForTimeout(50);
    }
  } finally {
    await page.close();
    server.close();
  }
}

const story = /^The cat was very much frightened/;

describe("bundled by esbuild", () => {
  const bundles: Readonly<Record<string, BuildOptions>> = {
    minified: { minify: true },
    "minified with names kept": { minify: true, keepNames: true },
    "for es2020, in several files": { minify: true, target: "es2020", splitting: true },
  };
  for (const [name, options] of Object.entries(bundles)) {
    test(`${name}: threads start and the story is told`, async (context) => {
      const { text, device, error } = await visit(context, { options, threads: "2" });
      expect(error).toBeUndefined();
      expect(text).toMatch(story);
      expect(device).toMatch(/2 threads$/);
    });
  }
});

describe("pages", () => {
  test("without isolation: one thread, and why", async (context) => {
    const { text, device } = await visit(context, { headers: {} });
    expect(text).toMatch(story);
    expect(device).toMatch(/1 thread \(no SharedArrayBuffer\)/);
  });

  test("a policy that forbids workers of blobs: one thread, and why", async (context) => {
    const headers = { ...isolated, "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };
    const { text, device } = await visit(context, { headers });
    expect(text).toMatch(story);
    expect(device).toMatch(/1 thread \(workers cannot start\)/);
  });

  test("a policy that forbids WebAssembly: the reference computes, and a warning says so and what to allow", async (context) => {
    const headers = { ...isolated, "content-security-policy": "default-src 'self'; script-src 'self'" };
    const { text, backend, warnings } = await visit(context, { headers });
    expect(text).toMatch(story);
    expect(backend).toBe("reference");
    expect(warnings!.join()).toMatch(/computed by the scalar reference.*wasm: this host does not compile WebAssembly.*'wasm-unsafe-eval'/);
  });
});
