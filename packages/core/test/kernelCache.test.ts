import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { defaultFolder, KernelCache, openKernelCache } from "../src/backend/kernelCache.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kernels-"));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** What another process would read. */
function kept(key: string, inside: string = folder): string | undefined {
  const content = new KernelCache(inside).readSync(key);
  return content && new TextDecoder().decode(content);
}

test("content is read back, at once by the cache that has it and once it is written by others", async () => {
  const cache = new KernelCache(join(folder, "a", "b"));
  expect(cache.readSync("key-1")).toBeUndefined();
  expect(await cache.read("key-1")).toBeUndefined();
  cache.write("key-1", () => bytes("first"));
  expect(cache.readSync("key-1")).toEqual(bytes("first"));
  expect(await cache.read("key-1")).toEqual(bytes("first"));
  expect(kept("key-1", join(folder, "a", "b"))).toBeUndefined();
  cache.write("key-1", () => bytes("second"));
  await cache.settled();
  expect(kept("key-1", join(folder, "a", "b"))).toBe("second");
  expect(await cache.read("key-1")).toEqual(bytes("second"));
  expect(await readdir(join(folder, "a", "b"))).toEqual(["key-1"]);
});

test("only the user can read and write the folder and its files", async () => {
  const cache = new KernelCache(join(folder, "kernels"));
  cache.write("key", () => bytes("content"));
  await cache.settled();
  // Windows has no such modes.
  if (process.platform === "win32") return;
  expect((await stat(join(folder, "kernels"))).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, "kernels", "key"))).mode & 0o777).toBe(0o600);
});

test("content is made and written in the background, later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const cache = new KernelCache(folder);
  const content = vi.fn(() => bytes("content"));
  cache.write("key", content);
  await vi.advanceTimersByTimeAsync(500);
  expect(content).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  await expect.poll(() => kept("key")).toBe("content");
  expect(content).toHaveBeenCalledTimes(1);
});

test("damaged files count as absent, and are replaced", async () => {
  const cache = new KernelCache(folder);
  cache.write("key", () => bytes("content"));
  await cache.settled();
  const file = await readFile(join(folder, "key"));
  for (const damaged of [file.with(file.length - 1, 0), file.subarray(0, -1), file.subarray(0, 4), new Uint8Array(0)]) {
    await writeFile(join(folder, "key"), damaged);
    expect(cache.readSync("key")).toBeUndefined();
    expect(await cache.read("key")).toBeUndefined();
    cache.write("key", () => bytes("content"));
    await cache.settled();
    expect(await readFile(join(folder, "key"))).toEqual(file);
  }
});

test("a folder that cannot be read or written is an empty one, and leaves nothing", async () => {
  await writeFile(join(folder, "file"), "a file in place of the folder");
  await mkdir(join(folder, "taken", "key"), { recursive: true });
  for (const unusable of ["file", "taken"]) {
    const cache = new KernelCache(join(folder, unusable));
    cache.write("key", () => bytes("content"));
    await cache.settled();
    expect(cache.readSync("key")).toBeUndefined();
    expect(await cache.read("key")).toBeUndefined();
    cache.write("key", () => bytes("content"));
    cache.writeSync();
    expect(cache.readSync("key")).toBeUndefined();
  }
  expect(await readdir(join(folder, "taken"))).toEqual(["key"]);
});

test("files that were written the longest ago go when the folder is too large", async () => {
  const content = new Uint8Array(96);
  const keys = ["a", "b", "c", "d"];
  const cache = new KernelCache(folder, 1000);
  for (const key of keys) cache.write(key, () => content);
  await cache.settled();
  for (const [i, key] of keys.entries()) await utimes(join(folder, key), 1000 + i, 1000 + i);
  const small = new KernelCache(folder, 450);
  small.write("e", () => content);
  await small.settled();
  expect((await readdir(folder)).sort()).toEqual(["d", "e"]);
});

test("the default folder follows the user's settings, if they are absolute paths", () => {
  expect(defaultFolder({ XDG_CACHE_HOME: "/cache" })).toBe(join("/cache", "centella", "kernels"));
  expect(defaultFolder({ LOCALAPPDATA: "/local" })).toBe(join("/local", "centella", "kernels"));
  expect(defaultFolder({ XDG_CACHE_HOME: "" })).toMatch(/\.cache.centella.kernels$/);
  expect(defaultFolder({ XDG_CACHE_HOME: "relative" })).toMatch(/\.cache.centella.kernels$/);
  expect(openKernelCache(false)).toBeUndefined();
});

/** Runs code in a process of its own, with `openKernelCache`, and returns what it prints. */
async function inProcess(code: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const url = new URL("../src/backend/kernelCache.ts", import.meta.url).href;
  const program = `const { openKernelCache } = await import("${url}"); const bytes = (text) => new TextEncoder().encode(text); ${code}`;
  const args = ["--conditions=@centella/source", "--no-warnings", "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, XDG_CACHE_HOME: "", LOCALAPPDATA: "", ...env },
  });
  return stdout.trim();
}

test.each(["", "process.exit(0);", "for (let i = 0; i < 20; i++) openKernelCache().write('key-' + i, () => bytes('more'));"])(
  "a process that ends at once writes before it does: %s",
  async (end) => {
    await inProcess(`openKernelCache().write("key", () => bytes("content")); ${end}`, { XDG_CACHE_HOME: folder });
    expect(kept("key", join(folder, "centella", "kernels"))).toBe("content");
  },
);

test("two processes at once leave a whole file", async () => {
  const env = { XDG_CACHE_HOME: folder };
  const write = (letter: string): string => `const cache = openKernelCache();
    for (let i = 0; i < 50; i++) { cache.write("key", () => bytes("${letter}".repeat(200_000))); await cache.settled(); }`;
  await Promise.all(["a", "b"].map((letter) => inProcess(write(letter), env)));
  const content = kept("key", join(folder, "centella", "kernels"));
  expect(content).toHaveLength(200_000);
  expect(new Set(content).size).toBe(1);
});

// Windows has LOCALAPPDATA in place of HOME.
test.skipIf(process.platform === "win32")("without a home that can be written nothing is kept, and nothing fails", async () => {
  const write = `const cache = openKernelCache(); cache?.write("key", () => bytes("content")); await cache?.settled();
    console.log(cache === undefined, cache?.readSync("key"));`;
  await writeFile(join(folder, "home"), "a file in place of a folder");
  expect(await inProcess(write, { HOME: "" })).toBe("true undefined");
  expect(await inProcess(write, { HOME: join(folder, "home") })).toBe("false undefined");
});
