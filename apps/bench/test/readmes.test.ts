import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, parse, resolve } from "node:path";
import { launchChromium, oldestNode } from "@centella/test-devices";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveHub } from "../../../packages/gguf/test/faultyHub.ts";
import type { TestServer } from "../../../packages/gguf/test/httpServer.ts";
import { familyModel, readFamilyGolden } from "../../../packages/llm/test/familyFixture.ts";
import { visitPage } from "./readmes/page.ts";
import { Project } from "./readmes/project.ts";
import { fileName, readSnippets, type Snippet } from "./readmes/snippets.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Where a snippet runs. */
type Place = "node" | "page" | "worker" | "vitest";

/** A text of a model with a random seed. Stories may begin with a quotation mark or a digit. */
const anyText = /\S.{20}/s;

interface Expectation {
  readonly in: Place;
  /** The button of the page that its reader presses. */
  readonly presses?: string;
  readonly prints: RegExp;
}

/** What each snippet prints, and where it runs: in Node unless said otherwise. */
const expected: Readonly<Record<string, RegExp | Expectation>> = {
  "README 1": /^[A-Z].{80}/s,
  "README 2": /^Float32Array\(3\) \[ 4, 10, 11 \]\n$/,
  "README 3": /^Float32Array\(3\) \[ 4, 10, 11 \]\n$/,
  "ai-sdk 1": /^40 true\n$/,
  // Without an NVIDIA GPU the reference computes.
  "backend-cuda 1": /^(cuda|reference) Float32Array\(4\) \[ 0, 6, 0, 10 \]\n$/,
  "backend-cuda 2": /^\.target sm_80\nFloat32Array\(2\) \[ 0\.25, -0\.25 \]\n$/,
  "backend-wasm 1": /^Float32Array\(4\) \[ 1\.5, 1\.5, 1\.5, 1\.5 \]\n$/,
  "backend-wasm 2": /^WebAssembly SIMD, 1 thread/,
  "backend-webgpu 1": { in: "page", prints: /^Float32Array\(30\)\n$/ },
  "backend-webgpu 2": /^Float32Array\(4\) \[ 0, 6, 0, 10 \]\n$/,
  "backend-webgpu 3": /^$/,
  "backend-webgpu 4": /^$/,
  "conformance 1": { in: "vitest", prints: /Test Files .*1 passed/ },
  "conformance 2": /^$/,
  "core 1": /^Float32Array\(4\) \[ 1, 0, 3, 4 \]\n$/,
  "core 2": /^Float32Array\(3\) \[ 2, 0, 6 \]\n$/,
  "core 3": /^Float32Array\(3\) \[\s+0\.9867\d+,\s+0\.0066\d+,\s+0\.0066\d+\s+\]\nfirst choice that can\n$/,
  "core 4": /^%1 matmul \d+ %\n%2 softmax \d+ %\n$/,
  "core 5":
    /^matmul: 268,435,456 flops, 3,145,728 bytes\nbackend .*\nreference +chosen .*\n\s*Float32Array\(1\) \[ 6 \]\n.*sum +reference +1 +0 /s,
  "core 6": /^Float32Array\(2\) \[ 0\.25, -0\.25 \]\n$/,
  "gguf 1": /llama 4096\n\[ 4096, 256 \] 1048576\n$/,
  "gguf 2": /^10761216\n(\d+ 2503392\n)+$/,
  "gpu-kernels 1": /^$/,
  "grammar 1": /^\[ 'yes', 'no', 'ye', 'n' \]\ns false\n$/,
  "grammar 2": /^true true\n$/,
  "grammar 3": /^true false\n$/,
  "grammar 4": /^true true\n$/,
  "grammar 5": /^true false\n$/,
  "grammar 6": /^true false\n$/,
  "grammar 7": /^\{ city: 'Par' \}\n\{ city: 'Paris', sights: \[ 'Louvre', 'Notre-D' \] \}\n$/,
  "langchain 1": /^40 true\n\[ 'animal' \]\n$/,
  "llm 1": /\n(length|stop|eos), [\d.]+ tokens\/s on wasm\n$/,
  "llm 2": { in: "page", prints: /^Fable Tiny 2M on wasm https:\/\/example\.com\/model\.gguf: \d+ bytes$/ },
  "llm 3": { in: "worker", prints: /^$/ },
  "llm 4": { in: "page", prints: anyText },
  "llm 5": /^\d+ of \d+ drafted tokens were accepted\n$/,
  "llm 6": /^true \[ 'name', 'age' \]\n$/,
  "llm 7": /^feed\nThe fox is full\.\n$/,
  "llm 8": /^\d+ of \d+ tokens were not computed again\n$/,
  "llm 9": /^\d+ elements, similarity -?[01]\.\d\d\ntrue\n$/,
  // The tests' reranker knows none of the words.
  "llm 10": /^(.+ -?\d+\.\d{3}\n){2}\d+ tokens\n$/,
  "llm 11": /(\| .*(pp128|tg32|pp128 @ d512|tg32 @ d512) .*\n){4}/,
  "llm 12": /^checking\nloading\nready\ngenerating\nready\nidle\n$/,
  "model-fable 1": anyText,
  "prompt-api 1": /^true true true\n$/,
  "prompt-api 2": { in: "worker", prints: /^$/ },
  "prompt-api 3": { in: "page", prints: anyText },
  "react 1": { in: "worker", prints: /^$/ },
  "react 2": { in: "page", prints: /Fable Tiny 2M is ready$/ },
  "react 3": { in: "page", presses: "Ask", prints: /user: Tell me a story about a fox\.assistant: \w.{80}.*Ask$/s },
  "server 1": /^length 40\n$/,
  "server 2": /^story 1024\n$/,
  "server 3": /^true\n$/,
  "quant 1": /^0\.8414\d* 0\.8424\d*\n$/,
};

const snippets = readSnippets(root);

function expectationOf({ name }: Snippet): Expectation {
  const given = expected[name];
  if (given === undefined) throw new Error(`${name}: expected a line in this test that says what it prints, got none`);
  return given instanceof RegExp ? { in: "node", prints: given } : given;
}

/** Snippets of a README that run in a place. */
function inPlace(place: Place, readme: string): readonly Snippet[] {
  return snippets.filter((snippet) => snippet.readme === readme && expectationOf(snippet).in === place);
}

const readmes = [...new Set(snippets.map(({ readme }) => readme))];
const oldest = oldestNode();
const nodes = [
  { version: process.version, path: process.execPath },
  { version: "v22.12.0", path: "path" in oldest ? oldest.path : `skipped: ${oldest.reason}` },
];

let project: Project;
let server: TestServer;
let browser: Awaited<ReturnType<typeof launchChromium>>;
const model = readFileSync(join(root, "packages/model-fable/models/fable-tiny-q8_0.gguf"));
const models = { "model.gguf": model, "draft.gguf": model, "reranker.gguf": familyModel(readFamilyGolden("bert-rank")) };

beforeAll(async () => {
  project = new Project(root);
  for (const readme of readmes) for (const place of ["node", "page", "worker", "vitest"] as const) project.add(inPlace(place, readme));
  server = await serveHub({ "/model.gguf": model, "model-Q4_K_M.gguf": model }, () => "none");
  browser = await launchChromium();
});

afterAll(async () => {
  if (typeof browser !== "string") await browser.close();
  await server[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});

test("no snippet is left out", () => {
  expect(snippets.map(({ name }) => name).sort()).toEqual(Object.keys(expected).sort());
});

test("snippets fit the types of the built packages", async () => {
  expect(await project.typeErrors()).toBe("");
});

test("the oldest Node of this test is the oldest that the packages take", async ({ skip }) => {
  const manifests = globSync("packages/*/package.json", { cwd: root }).map((path) => JSON.parse(readFileSync(join(root, path), "utf8")));
  const engines = new Set(manifests.flatMap(({ private: isPrivate, engines: { node } = {} }) => (isPrivate ? [] : [node])));
  expect([...engines]).toEqual([">=22.12"]);
  if ("reason" in oldest) return skip(oldest.reason);
  expect(execFileSync(oldest.path, ["--version"], { encoding: "utf8" })).toBe("v22.12.0\n");
});

describe.each(nodes)("in Node $version", ({ path }) => {
  test.for(readmes.filter((readme) => inPlace("node", readme).length > 0))(
    "the snippets of %s run from top to bottom and print what they should",
    async (readme, { skip }) => {
      skip(path.startsWith("skipped"), path);
      const steps = inPlace("node", readme);
      const preloads = ["preload.mjs", ...(readme === "backend-webgpu" ? ["swiftshader.mjs"] : [])];
      const outputs = await project.run(steps, { node: path, preloads, models, server: server.url });
      expect([...outputs.keys()]).toEqual(steps.map(({ name }) => name));
      for (const step of steps) expect(outputs.get(step.name), step.name).toMatch(expectationOf(step).prints);
    },
  );
});

test.for(snippets.filter((snippet) => expectationOf(snippet).in === "page"))("$name runs in a page", async (snippet, { skip }) => {
  if (typeof browser === "string") return skip(browser);
  const { presses, prints } = expectationOf(snippet);
  const workers = inPlace("worker", snippet.readme).map((worker) => [parse(fileName(worker)!).name, project.pathOf(worker)]);
  const scripts = { ...Object.fromEntries(workers), main: project.pathOf(snippet) };
  await visitPage(browser, { scripts, presses, prints, server: server.url, isOnGpu: snippet.readme === "backend-webgpu" });
});

test.for(snippets.filter((snippet) => expectationOf(snippet).in === "vitest"))("$name is a file of tests that pass", async (snippet) => {
  expect(await project.runTests(snippet)).toMatch(expectationOf(snippet).prints);
});
