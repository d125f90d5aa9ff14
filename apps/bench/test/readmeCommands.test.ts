import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { contentOf, type GgufContent, quantizeGguf, readGguf, splitContent, splitName, writeGguf } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveHub } from "../../../packages/gguf/test/faultyHub.ts";
import type { TestServer } from "../../../packages/gguf/test/httpServer.ts";
import { serveSearch } from "../../../packages/gguf/test/searchedHub.ts";
import { familyModel, readFamilyGolden } from "../../../packages/llm/test/familyFixture.ts";
import { repositoryFolder } from "../src/receipts/store.ts";

const run = promisify(execFile);
const readme = readFileSync(join(repositoryFolder, "packages/cli/README.md"), "utf8");
const lines = [...readme.matchAll(/^\$ (.*?)(?: +#.*)?$/gm)].map(([, line]) => line!);

/** Commands that do not run here, and why. */
const skipped: Readonly<Record<string, string>> = {
  "npm install -g @centella/cli": "packages/cli/test/packed.test.ts installs the packages",
  "npm install -g @centella/cli webgpu": "packages/cli/test/packed.test.ts installs the packages",
  "npx -p @centella/cli -p webgpu centella run": "needs published packages",
  "centella run --backend webgpu": "needs a GPU",
  "centella chat model.gguf --mcp mcp.json": "asks on a terminal; packages/cli/test/mcp.test.ts answers it",
  "centella gpu --watch": "repeats until it is stopped, and wants an NVIDIA device",
};

/** What the shell has in place of the commands. A server takes a free port and is told to end once it listens. */
const functions = `
git() { echo "+ a line"; }
centella() {
  if [ "$1" != serve ]; then "$NODE" "$CLI" "$@"; return; fi
  rm -f "$HOME/served"
  "$NODE" "$CLI" "$@" --port 0 > "$HOME/served" &
  while kill -0 $! && ! grep -s listening "$HOME/served"; do sleep 0.1; done
  kill $!
  wait $!
}
`;

let folder: string;
let hub: TestServer;
let searched: TestServer;

/** The folder of a user who has the files that the README names. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "centella-commands-"));
  const at = (name: string): string => join(folder, name);
  const tiny = join(repositoryFolder, "packages/model-fable/models/fable-tiny-q8_0.gguf");
  copyFileSync(tiny, at("model.gguf"));
  copyFileSync(tiny, at("a.gguf"));
  mkdirSync(at("models"));
  copyFileSync(tiny, at("models/b.gguf"));
  writeFileSync(at("reranker.gguf"), familyModel(readFamilyGolden("bert-rank")));
  writeFileSync(at("text.txt"), readme);
  writeFileSync(at("prompt.txt"), "Tell me a story about a cat.");
  writeFileSync(at("requests.jsonl"), '{"custom_id":"a","url":"/v1/completions","body":{"prompt":"The fox","max_tokens":2}}\n');
  writeFileSync(at("schema.json"), '{"type":"boolean"}');
  writeFileSync(at("tools.json"), '[{"name":"weather","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]');
  const tools = { command: process.execPath, args: [join(repositoryFolder, "packages/cli/test/mcp/zoo.ts"), "--stdio"] };
  writeFileSync(at("mcp.json"), JSON.stringify({ mcpServers: { tools } }));
  await using file = await readGguf(tiny);
  const write = async (name: string, fill: (sink: { write: (bytes: Uint8Array) => Promise<void> }) => Promise<unknown>): Promise<void> => {
    const pieces: Uint8Array[] = [];
    await fill({ write: async (bytes) => void pieces.push(bytes.slice()) });
    writeFileSync(at(name), Buffer.concat(pieces));
  };
  await write("model-f16.gguf", (sink) => quantizeGguf(sink, file, "F16", { allowRequantize: true }));
  const parts: readonly GgufContent[] = splitContent(contentOf(file), { maxTensors: Math.ceil(file.tensors.length / 3) });
  for (const [i, part] of parts.entries()) {
    await write(splitName({ prefix: "parts", number: i + 1, count: parts.length }), (sink) => writeGguf(sink, part));
  }
  searched = await serveSearch({ "o/qwen3": { files: { "model-Q4_K_M.gguf": 1_000_000 } } });
  hub = await serveHub({ "model-Q4_K_M.gguf": readFileSync(tiny) }, () => "none");
});

afterAll(async () => {
  await Promise.all([hub[Symbol.asyncDispose](), searched[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true });
});

// The commands are written for a POSIX shell.
describe.skipIf(process.platform === "win32")("the commands of the CLI's README", () => {
  test("that do not run here are in it", () => {
    expect(lines).toEqual(expect.arrayContaining(Object.keys(skipped)));
    expect(lines.length).toBeGreaterThan(15);
  });

  // One after the other: later ones read what earlier ones wrote.
  test.each(lines.filter((line) => !Object.hasOwn(skipped, line)))("%s", async (line) => {
    const script = `set -o pipefail; ${functions} ${line}`;
    const env = {
      ...process.env,
      HOME: folder,
      NODE: process.execPath,
      CLI: join(repositoryFolder, "packages/cli/bin/centella.cjs"),
      HF_ENDPOINT: (line.startsWith("centella search") ? searched : hub).url.href,
      XDG_CACHE_HOME: join(folder, "cache"),
      XDG_STATE_HOME: join(folder, "state"),
      CENTELLA_BACKEND: "wasm",
    };
    const before = readdirSync(folder).length;
    const running = run("bash", ["-c", script], { cwd: folder, env });
    running.child.stdin!.end("Hello!\n");
    const { stdout } = await running;
    // What writes a file prints nothing.
    expect(stdout.trim() !== "" || readdirSync(folder).length > before).toBe(true);
  });
});
