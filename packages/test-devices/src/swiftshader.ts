import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/**
 * A feature of Dawn to disable: then it zeroes workgroup memory by a loop. By the Vulkan extension, SwiftShader writes each word with an
 * instruction of its own, and takes three times as long to compile a product of matrices.
 */
export const slowZeroing = "use_vulkan_zero_initialize_workgroup_memory_extension";

/** Where things are unpacked, once. A change of the package's contents needs `rm -r node_modules/.cache`. */
const cache = fileURLToPath(new URL("../node_modules/.cache/chromium", import.meta.url));

/**
 * Gives this process a Vulkan driver that needs no GPU: SwiftShader, from the npm package `@sparticuz/chromium`. Where the user
 * names drivers (`VK_DRIVER_FILES`), those are taken. Returns why there is none, if so; WebGPU then finds what the machine has.
 */
export function useSwiftShader(): string | undefined {
  const driver = join(cache, "libraries/driver.json");
  // A parent process may have set it to our own driver; then the loader is still to be loaded.
  if ((process.env.VK_DRIVER_FILES ?? driver) !== driver) return undefined;
  const libraries = unpackLibraries();
  if ("reason" in libraries) return libraries.reason;
  preload(join(libraries.path, "libvulkan.so.1"));
  process.env.VK_DRIVER_FILES = writeDriver(libraries.path);
  slowPolling();
  return undefined;
}

/** Environment of another process that gives it the Vulkan driver of {@link useSwiftShader}; empty where there is none. */
export function vulkanEnvironment(): Readonly<Record<string, string>> {
  const libraries = unpackLibraries();
  if ("reason" in libraries) return {};
  return { LD_LIBRARY_PATH: searchPath(libraries.path), VK_DRIVER_FILES: process.env.VK_DRIVER_FILES ?? writeDriver(libraries.path) };
}

/** Writes the file by which Vulkan's loader finds SwiftShader in a folder, and returns its path. */
function writeDriver(folder: string): string {
  const driver = join(folder, "driver.json");
  const icd = JSON.stringify({
    file_format_version: "1.0.0",
    ICD: { library_path: join(folder, "libvk_swiftshader.so"), api_version: "1.0.5" },
  });
  // Another process may be reading the file.
  if (!existsSync(driver) || readFileSync(driver, "utf8") !== icd) {
    const partial = `${driver}.${process.pid}`;
    writeFileSync(partial, icd);
    renameSync(partial, driver);
  }
  return driver;
}

/** `LD_LIBRARY_PATH` with one more folder. */
function searchPath(folder: string): string {
  return [process.env.LD_LIBRARY_PATH, folder].filter((part) => part !== undefined).join(":");
}

const { setImmediate: immediately, setTimeout: later } = globalThis;

/**
 * Lets Dawn look for finished work every millisecond. Dawn calls the global `setImmediate` with a native function as long as anything is
 * pending, which keeps a core busy while SwiftShader needs it to compile.
 */
function slowPolling(): void {
  if (globalThis.setImmediate !== immediately) return;
  const isNative = (callback: unknown): boolean => Function.prototype.toString.call(callback).endsWith("{ [native code] }");
  const schedule = (callback: (...args: unknown[]) => void, ...args: unknown[]): unknown =>
    isNative(callback) ? later(callback, 1, ...args) : immediately(callback, ...args);
  globalThis.setImmediate = Object.assign(schedule, immediately) as typeof setImmediate;
}

/** The headless Chromium of the package, and the environment that it needs. */
export function unpackChromium(): { readonly path: string; readonly env: Readonly<Record<string, string>> } | { readonly reason: string } {
  const libraries = unpackLibraries();
  if ("reason" in libraries) return libraries;
  const directory = join(cache, "browser");
  once(directory, (to) => {
    write(join(to, "chromium"), decompress(join(libraries.packed, "chromium.br")));
    // Chromium looks for its graphics libraries beside itself.
    for (const [name, data] of tarFiles(decompress(join(libraries.packed, "swiftshader.tar.br")))) write(join(to, name), data);
  });
  return { path: join(directory, "chromium"), env: { LD_LIBRARY_PATH: searchPath(join(libraries.path, "lib")) } };
}

function unpackLibraries(): { readonly path: string; readonly packed: string } | { readonly reason: string } {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return { reason: `@sparticuz/chromium is for linux x64, this is ${process.platform} ${process.arch}` };
  }
  let packed: string;
  try {
    packed = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "../../bin");
  } catch {
    return { reason: "@sparticuz/chromium is not installed" };
  }
  const path = join(cache, "libraries");
  once(path, (to) => {
    for (const archive of ["swiftshader.tar.br", "al2023.tar.br"]) {
      for (const [name, data] of tarFiles(decompress(join(packed, archive)))) write(join(to, name), data);
    }
  });
  return { path, packed };
}

/**
 * Loads a shared library for good. A library that is loaded already is found by its name alone, without LD_LIBRARY_PATH, which
 * could only be set before the process starts.
 */
function preload(library: string): void {
  const keepLoaded = 0x1000;
  try {
    process.dlopen({ exports: {} }, library, constants.dlopen.RTLD_NOW | keepLoaded);
  } catch (error) {
    // It is no Node addon; that Node says so means that it was loaded.
    if (!String(error).includes("self-register")) throw error;
  }
}

/** Makes a folder whole or not at all, also where test processes race for it. */
function once(target: string, fill: (to: string) => void): void {
  if (existsSync(target)) return;
  const partial = `${target}.${process.pid}`;
  fill(partial);
  try {
    renameSync(partial, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(partial, { recursive: true });
  }
}

function decompress(file: string): Uint8Array {
  return brotliDecompressSync(readFileSync(file));
}

function write(path: string, data: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, data);
  chmodSync(path, 0o755);
}

/** The regular files of a tar archive (POSIX ustar: 512-byte headers, sizes in octal). */
function* tarFiles(tar: Uint8Array): Generator<readonly [name: string, data: Uint8Array]> {
  const text = (at: number, length: number): string => new TextDecoder().decode(tar.subarray(at, at + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const type = text(at + 156, 1);
    if (type === "0" || type === "") yield [text(at, 100), tar.subarray(at + 512, at + 512 + size)];
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
