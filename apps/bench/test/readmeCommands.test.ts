import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { quantizeGguf, readGguf } from "@centella/gguf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveHub } from "../../../packages/gguf/test/faultyHub.ts";
import type { TestServer } from "../../../packages/gguf/test/httpServer.ts";
import { repositoryFolder } from "../src/receipts/store.ts";

const run = promisify(execFile);
const readme = readFileSync(join(repositoryFolder, "packages/cli/README.md"), "utf8");
const [, block] = /```console\n([\s\S]*?)```/.exec(readme)!;
const commands = block!.split("\n").flatMap((line) => /^\$ (?:npx @centella\/cli|centella) (.*)$/.exec(line)?.[1] ?? []);

let folder: string;
let hub: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "centella-commands-"));
  const tiny = join(repositoryFolder, "packages/model-fable/models/fable-tiny-q8_0.gguf");
  copyFileSync(tiny, join(folder, "model.gguf"));
  writeFileSync(join(folder, "text.txt"), readme);
  const parts: Uint8Array[] = [];
  await using file = await readGguf(tiny);
  await quantizeGguf({ write: async (bytes) => void parts.push(bytes.slice()) }, file, "F16", { allowRequantize: true });
  writeFileSync(join(folder, "model-f16.gguf"), Buffer.concat(parts));
  hub = await serveHub({ "model-Q4_K_M.gguf": readFileSync(tiny) }, () => "none");
});

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("every command of the CLI's README is found", () => {
  expect(commands.length).toBe(block!.match(/^\$/gm)!.length);
});

// One after the other: a later command may read what an earlier one wrote.
test.skipIf(process.platform === "win32").each(commands)("centella %s", async (command) => {
  const script = `centella() { "$NODE" "$CLI" "$@"; }; centella ${command}`;
  const env = {
    ...process.env,
    NODE: process.execPath,
    CLI: join(repositoryFolder, "packages/cli/bin/centella.js"),
    HF_ENDPOINT: hub.url.href,
    XDG_CACHE_HOME: join(folder, "cache"),
    CENTELLA_BACKEND: "wasm",
  };
  const before = readdirSync(folder).length;
  const running = run("bash", ["-c", script], { cwd: folder, env });
  running.child.stdin!.end("Hello!\n");
  const { stdout } = await running;
  // `logits` writes a file alone.
  expect(stdout.trim() !== "" || readdirSync(folder).length > before).toBe(true);
});
