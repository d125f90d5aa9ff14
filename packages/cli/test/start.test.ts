import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bin, centella, type Result, tiny } from "./centella.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "centella-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Paths of a command's compiled code in a folder. */
function codesIn(folder: string, command: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return paths.filter((path) => path.includes(`centella-${command}-`)).map((path) => join(folder, path));
}

/**
 * Paths of kernels that were kept in a user's cache folder, by the version of the package that `import` loads, too. A process that ends while it
 * writes leaves a file of another name.
 */
function kernelsIn(folder: string): readonly string[] {
  const kernels = join(folder, "centella", "kernels");
  const names = readdirSync(kernels).filter((name) => !name.endsWith(".partial"));
  return names.map((name) => join(kernels, name));
}

test("run keeps its compiled code and its kernels, uses them, and replaces what is damaged", async () => {
  const folder = temporaryFolder();
  const run = (env: Record<string, string>): Promise<Result> =>
    centella(["run", tiny, "-p", "x", "-n", "2", "--temp", "0", "--backend", "wasm"], { env });
  const cached = { NODE_COMPILE_CACHE: folder, XDG_CACHE_HOME: folder };

  const first = await run({ NODE_DISABLE_COMPILE_CACHE: "1", XDG_CACHE_HOME: join(folder, "other") });
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(await run(cached)).toEqual(first);
  const kept = (): readonly string[] => [...codesIn(folder, "run"), ...kernelsIn(folder)];
  expect(kept()).toHaveLength(2);
  for (const path of kept()) {
    const code = readFileSync(path);
    writeFileSync(path, code.with(code.length >> 1, code[code.length >> 1]! ^ 1));
  }
  expect(await run(cached)).toEqual(first);
  const times = (): readonly number[] => kept().map((path) => statSync(path).mtimeMs);
  const written = times();
  expect(await run(cached)).toEqual(first);
  expect(times()).toEqual(written);
  expect(written).toHaveLength(2);
});

test("run shares its kernels with programs that import the package", async () => {
  const folder = temporaryFolder();
  const env = { XDG_CACHE_HOME: folder };
  expect((await centella(["run", tiny, "-p", "x", "-n", "1", "--backend", "wasm", "-t", "1"], { env })).code).toBe(0);
  const version = readFileSync(new URL("../../backend-wasm/build/esm/linking/codeVersion.js", import.meta.url), "utf8");
  const [path, ...others] = kernelsIn(folder);
  expect(others).toEqual([]);
  expect(version).toContain(basename(path!).split("-")[0]);
});

test("batch keeps its compiled code and its kernels", async () => {
  const folder = temporaryFolder();
  const input = JSON.stringify({ custom_id: "a", url: "/v1/completions", body: { prompt: "x", max_tokens: 1 } });
  const args = ["batch", "-i", "-", "-o", "-", tiny, "--backend", "wasm"];
  expect((await centella(args, { input, env: { NODE_COMPILE_CACHE: folder, XDG_CACHE_HOME: folder } })).code).toBe(0);
  expect([codesIn(folder, "batch").length, kernelsIn(folder).length]).toEqual([1, 1]);
});

/** Prints the built-in modules that are loaded when the command first prints something. */
const listModules = `const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (...args) => {
  process.stdout.write = write;
  write(JSON.stringify(process.moduleLoadList) + "\\n");
  return write(...args);
};`;

test("serve uses its compiled code, and listens before it loads what requests need", async () => {
  const folder = temporaryFolder();
  const preload = join(folder, "listModules.cjs");
  writeFileSync(preload, listModules);
  const modulesOf = async (): Promise<readonly string[]> => {
    const child = spawn(process.execPath, ["--require", preload, bin, "serve", tiny, "--lazy", "--port", "0"], {
      env: { ...process.env, CENTELLA_BACKEND: "", NODE_COMPILE_CACHE: folder },
    });
    const ended = once(child, "close");
    let stdout = "";
    let isEnding = false;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      // Once: the second one ends the process at once.
      if (!isEnding && stdout.includes("listening on")) isEnding = child.kill("SIGTERM");
    });
    expect((await ended)[0]).toBe(0);
    const [modules = ""] = stdout.split("\n");
    return JSON.parse(modules) as readonly string[];
  };

  await modulesOf();
  const [path] = codesIn(folder, "serve") as [string];
  const { mtimeMs } = statSync(path);
  const modules = await modulesOf();
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
  expect(modules).toContain("NativeModule http");
  expect(modules.filter((name) => /undici|http2|tls|NativeModule crypto$/.test(name))).toEqual([]);
});
