import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/** A software Vulkan device and a headless Chromium, unpacked from the npm package `@sparticuz/chromium` (Linux, x64). */
export interface Unpacked {
  /** Holds libvulkan, the SwiftShader driver and, under `lib`, the system libraries that a bare machine lacks. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

const cache = fileURLToPath(new URL("../node_modules/.cache/swiftshader", import.meta.url));

/** Environment under which a new process finds a Vulkan device: the machine's own where the user names one, else SwiftShader. */
export function vulkanEnv(): Readonly<Record<string, string>> | string {
  const unpacked = unpackSwiftShader();
  if (typeof unpacked === "string") return process.env["VK_DRIVER_FILES"] === undefined ? unpacked : {};
  const own = process.env["VK_DRIVER_FILES"];
  return own === undefined ? unpacked.env : {};
}

/** Unpacks once into node_modules/.cache. Returns the reason where it cannot. */
export function unpackSwiftShader(): Unpacked | string {
  const bin = packageBin();
  if (bin === undefined) return "@sparticuz/chromium is not installed";
  if (process.platform !== "linux" || process.arch !== "x64") return `@sparticuz/chromium is for linux x64, not ${process.platform} ${process.arch}`;
  once(join(cache, "vulkan"), (to) => {
    for (const [name, data] of tarFiles(brotliDecompressSync(readFileSync(join(bin, "swiftshader.tar.br"))))) write(join(to, name), data);
    for (const [name, data] of tarFiles(brotliDecompressSync(readFileSync(join(bin, "al2023.tar.br"))))) write(join(to, name), data);
  });
  const directory = join(cache, "vulkan");
  const driver = join(directory, "swiftshader_icd.json");
  writeFileSync(
    driver,
    JSON.stringify({ file_format_version: "1.0.0", ICD: { library_path: join(directory, "libvk_swiftshader.so"), api_version: "1.0.5" } }),
  );
  const path = [directory, process.env["LD_LIBRARY_PATH"]].filter(Boolean).join(":");
  return { directory, env: { VK_DRIVER_FILES: driver, LD_LIBRARY_PATH: path } };
}
function packageBin(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
    return join(dirname(entry), "..", "..", "bin");
  } catch {
    return undefined;
  }
}

function once(target: string, make: (to: string) => void): void {
  if (existsSync(target)) return;
  const partial = `${target}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  make(partial);
  try { renameSync(partial, target); } catch { rmSync(partial, { recursive: true }); }
}

function write(path: string, data: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, data);
  chmodSync(path, 0o755);
}

/** Regular files of a ustar archive. */
function* tarFiles(tar: Uint8Array): Generator<readonly [name: string, data: Uint8Array]> {
  const text = (at: number, length: number): string => new TextDecoder().decode(tar.subarray(at, at + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8) || 0;
    const prefix = text(at + 345, 155);
    const name = prefix === "" ? text(at, 100) : `${prefix}/${text(at, 100)}`;
    const type = String.fromCharCode(tar[at + 156]!);
    console.log(type, name, size);
    if (type === "0" || type === "\0") yield [name, tar.subarray(at + 512, at + 512 + size)];
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
console.log(unpackSwiftShader());
