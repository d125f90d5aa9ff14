import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire, getCompileCacheDir } from "node:module";
import { isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** Imports a module from outside the script, as a package of ours does. */
type ImportFrom = (url: string, id: string) => Promise<unknown>;
/** The URL of a package of ours, in place of `import.meta.url` of its modules. */
type UrlOf = (name: string) => string;
/** The function that the script is. */
type Program = (require: typeof own, importFrom: ImportFrom, urlOf: UrlOf) => void;

const own = createRequire(import.meta.url);

const importFrom: ImportFrom = (url, id) => {
  const found = createRequire(url).resolve(id);
  return import(isAbsolute(found) ? pathToFileURL(found).href : found);
};

const urlOf: UrlOf = (name) => (name === "@centella/cli" ? urlOfMain : pathToFileURL(own.resolve(name)).href);
const urlOfMain = new URL("main.js", import.meta.url).href;

/**
 * Commands that start from the script, with their flags of V8. They are set before the script is read, because V8 takes compiled code only
 * under the flags with which it was compiled.
 *
 * No flag may make the main thread collect garbage more often: a thread of V8 that compiles code then waits for the main thread, which may
 * be ending the process by waiting for that thread (https://github.com/nodejs/node/issues/54918).
 *
 * A server's burst of requests would double the heap's young generation again and again, and V8 keeps that memory: 17 MiB for 1,000.
 */
const scripted: Readonly<Record<string, readonly string[]>> = { run: [], serve: ["--semi-space-growth-factor=1"], batch: [] };

/**
 * Starts a command from one script, `dist/script.cjs`. Node's own cache has the code of modules without most functions, which are compiled
 * again in every process. The cache of the script is the command's own, and has every function that its first process called.
 */
function startScript(command: string): void {
  // Loading this module takes 2 ms.
  for (const flag of scripted[command] ?? []) process.getBuiltinModule("node:v8").setFlagsFromString(flag);
  const filename = fileURLToPath(new URL("script.cjs", import.meta.url));
  // ASCII, which this encoding reads fastest.
  const source = readFileSync(filename, "latin1");
  const cache = new ScriptCache(source);
  const cachedData = cache.read(command);
  const script = new Script(source, { filename, ...(cachedData !== undefined && { cachedData }) });
  if (script.cachedDataRejected !== false) cache.write(command, () => script.createCachedData());
  (script.runInThisContext() as Program)(own, importFrom, urlOf);
}

/** Time after which a process writes its files: many servers are killed. */
const writeAfterMs = 10_000;

/**
 * Files in the folder of Node's cache, which only save time. Their names have the hash with which the script begins. They are written at the
 * end of the process, or some time before.
 */
class ScriptCache {
  readonly #folder = getCompileCacheDir();
  readonly #hash: string;
  readonly #unwritten = new Map<string, () => Uint8Array>();
  #timer: NodeJS.Timeout | undefined;

  constructor(source: string) {
    this.#hash = source.slice(3, source.indexOf("\n"));
    process.once("exit", () => this.#write());
  }

  /** Returns a file unless it is missing or damaged: V8 ends the process if it reads damaged code. */
  read(name: string): Buffer<ArrayBuffer> | undefined {
    try {
      const file = readFileSync(this.#pathOf(name));
      const data = file.subarray(0, -4);
      return crc32(data) === file.readUInt32LE(data.length) ? data : undefined;
    } catch {
      return undefined;
    }
  }

  write(name: string, data: () => Uint8Array): void {
    if (!this.#folder) return;
    this.#unwritten.set(name, data);
    this.#timer ??= setTimeout(() => this.#write(), writeAfterMs).unref();
  }

  #write(): void {
    this.#timer = undefined;
    for (const [name, data] of this.#unwritten) writeWhole(this.#pathOf(name), data());
    this.#unwritten.clear();
  }

  #pathOf(name: string): string {
    return join(this.#folder ?? "", `centella-${name}-${this.#hash}`);
  }
}

/** Writes a file with its checksum at the end, whole or not at all. */
function writeWhole(path: string, data: Uint8Array): void {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(data));
  try {
    const partial = `${path}.${process.pid}`;
    writeFileSync(partial, Buffer.concat([data, sum]));
    renameSync(partial, path);
  } catch {
    // A folder that cannot be written, or a full disk, is no failure of the command.
  }
}

const [, , command = ""] = process.argv;
if (Object.hasOwn(scripted, command)) startScript(command);
else void import("./main.ts");
