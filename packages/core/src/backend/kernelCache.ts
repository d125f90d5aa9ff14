/** What the cache uses of Node's modules. They are not imported: bundlers for pages follow imports, and webpack rejects `node:` names. */
interface NodeModules {
  readonly "node:fs": {
    readFileSync(path: string): Uint8Array<ArrayBuffer>;
    mkdirSync(path: string, options: FolderOptions): void;
    writeFileSync(path: string, data: Uint8Array, options: FileOptions): void;
    renameSync(from: string, to: string): void;
    rmSync(path: string, options: { readonly force: true }): void;
  };
  readonly "node:fs/promises": {
    readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
    mkdir(path: string, options: FolderOptions): Promise<unknown>;
    writeFile(path: string, data: Uint8Array, options: FileOptions): Promise<void>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string, options: { readonly force: true }): Promise<void>;
    readdir(path: string): Promise<string[]>;
    stat(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  };
  readonly "node:os": { homedir(): string };
  readonly "node:path": { join(...parts: string[]): string; isAbsolute(path: string): boolean };
  readonly "node:zlib": { crc32(data: Uint8Array): number };
}

interface NodeProcess {
  readonly env: Environment;
  getBuiltinModule<N extends keyof NodeModules>(name: N): NodeModules[N];
  once(event: "exit", listener: () => void): void;
}

interface FolderOptions {
  readonly recursive: true;
  readonly mode: number;
}

interface FileOptions {
  readonly mode: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Size of the folder from which the files that were written the longest ago are removed, until half of it is left. */
const maxBytes = 256 * 2 ** 20;
/** Time after which content is written. The first results of a process do not wait for it. */
const writeAfterMs = 1000;
const checksumBytes = 4;
/** Nobody else may write code that the user's processes run. */
const folderOptions: FolderOptions = { recursive: true, mode: 0o700 };
const fileOptions: FileOptions = { mode: 0o600 };

/**
 * Opens the cache that the option `kernelCache` of a backend names: a folder, or by default {@link defaultFolder}. Undefined for false, and on
 * hosts without files or a folder of the user's.
 */
export function openKernelCache(kernelCache: string | false | undefined): KernelCache | undefined {
  if (kernelCache === false || nodeProcess()?.getBuiltinModule === undefined) return undefined;
  const folder = kernelCache ?? defaultFolder();
  return folder === undefined ? undefined : new KernelCache(folder);
}

/**
 * `centella/kernels` in the user's cache folder: `XDG_CACHE_HOME`, on Windows `LOCALAPPDATA`, or `~/.cache`. Undefined if none of them is an
 * absolute path.
 */
export function defaultFolder(env: Environment = nodeProcess()!.env): string | undefined {
  const { join, isAbsolute } = builtin("node:path");
  const given = [env.XDG_CACHE_HOME, env.LOCALAPPDATA].find((path) => path !== undefined && isAbsolute(path));
  const cache = given ?? join(home(), ".cache");
  return isAbsolute(cache) ? join(cache, "centella", "kernels") : undefined;
}

/**
 * Compiled kernels in a folder, one file for each key: letters, digits and hyphens. A file is written under another name first and starts with
 * a checksum of its content, so a damaged file counts as absent. A folder that cannot be read or written is an empty one.
 */
export class KernelCache {
  readonly #folder: string;
  readonly #maxBytes: number;
  /** By key, until it is written. */
  readonly #unwritten = new Map<string, () => Uint8Array<ArrayBuffer>>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #hasSwept = false;

  constructor(folder: string, limit: number = maxBytes) {
    this.#folder = folder;
    this.#maxBytes = limit;
  }

  /** Returns the content of a key, if it was kept. */
  async read(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const unwritten = this.#unwritten.get(key);
    if (unwritten !== undefined) return unwritten();
    try {
      return intact(await builtin("node:fs/promises").readFile(this.#path(key)));
    } catch {
      return undefined;
    }
  }

  /** {@link read} within the call. */
  readSync(key: string): Uint8Array<ArrayBuffer> | undefined {
    const unwritten = this.#unwritten.get(key);
    if (unwritten !== undefined) return unwritten();
    try {
      return intact(builtin("node:fs").readFileSync(this.#path(key)));
    } catch {
      return undefined;
    }
  }

  /**
   * Keeps content for later processes. It is written a second later in the background, or at the end of the process. `content` is called then,
   * or when the key is read before.
   */
  write(key: string, content: () => Uint8Array<ArrayBuffer>): void {
    this.#unwritten.set(key, content);
    writeAtExit(this);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.settled(), writeAfterMs);
    // Keeps no process alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** Resolves when all content is written, at once. */
  async settled(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const entries = [...this.#unwritten];
    const files = builtin("node:fs/promises");
    await files.mkdir(this.#folder, folderOptions).catch(() => undefined);
    await Promise.all(
      entries.map(async ([key, content]) => {
        const [path, partial] = [this.#path(key), this.#partial(key)];
        try {
          await files.writeFile(partial, withChecksum(content()), fileOptions);
          await files.rename(partial, path);
        } catch {
          await files.rm(partial, { force: true }).catch(() => undefined);
        }
        if (this.#unwritten.get(key) === content) this.#unwritten.delete(key);
      }),
    );
    if (this.#unwritten.size === 0) writtenBefore.delete(this);
    if (this.#hasSwept) return;
    this.#hasSwept = true;
    await this.#sweep().catch(() => undefined);
  }

  /** Writes what is left when the process ends. */
  writeSync(): void {
    const files = builtin("node:fs");
    for (const [key, content] of this.#unwritten) {
      const [path, partial] = [this.#path(key), this.#partial(key)];
      try {
        files.mkdirSync(this.#folder, folderOptions);
        files.writeFileSync(partial, withChecksum(content()), fileOptions);
        files.renameSync(partial, path);
      } catch {
        // A full disk may leave a part.
        removeSync(partial);
      }
    }
    this.#unwritten.clear();
  }

  /** Removes old files from a folder that is too large. */
  async #sweep(): Promise<void> {
    const { readdir, rm, stat } = builtin("node:fs/promises");
    const files = await Promise.all(
      (await readdir(this.#folder)).map(async (name) => {
        const path = builtin("node:path").join(this.#folder, name);
        const { size, mtimeMs } = await stat(path);
        return { path, size, mtimeMs };
      }),
    );
    let total = files.reduce((sum, { size }) => sum + size, 0);
    if (total <= this.#maxBytes) return;
    for (const { path, size } of files.toSorted((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (total <= this.#maxBytes / 2) return;
      await rm(path, { force: true });
      total -= size;
    }
  }

  #path(key: string): string {
    return builtin("node:path").join(this.#folder, key);
  }

  /** A unique name for a file that is being written. */
  #partial(key: string): string {
    return `${this.#path(key)}.${crypto.randomUUID()}.partial`;
  }
}

/** Caches with content that is not written yet. */
const writtenBefore = new Set<KernelCache>();
let isListening = false;

/** Has a cache written when the process ends. One listener serves all caches: Node warns of more than ten. */
function writeAtExit(cache: KernelCache): void {
  writtenBefore.add(cache);
  if (isListening) return;
  isListening = true;
  nodeProcess()!.once("exit", () => {
    for (const each of writtenBefore) each.writeSync();
  });
}

function removeSync(path: string): void {
  try {
    builtin("node:fs").rmSync(path, { force: true });
  } catch {
    // The folder is gone, or cannot be written.
  }
}

/** The content of a file, unless it is damaged. */
function intact(file: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  if (file.length <= checksumBytes) return undefined;
  const content = new Uint8Array(file.buffer, file.byteOffset + checksumBytes, file.length - checksumBytes);
  return new DataView(file.buffer, file.byteOffset).getUint32(0, true) === builtin("node:zlib").crc32(content) ? content : undefined;
}

function withChecksum(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(checksumBytes + content.length);
  new DataView(file.buffer).setUint32(0, builtin("node:zlib").crc32(content), true);
  file.set(content, checksumBytes);
  return file;
}

/** The user's folder, or nothing for a user without one. */
function home(): string {
  try {
    return builtin("node:os").homedir();
  } catch {
    return "";
  }
}

function nodeProcess(): NodeProcess | undefined {
  return (globalThis as { readonly process?: NodeProcess }).process;
}

/** A module of Node. Only hosts that have it open a cache. */
function builtin<N extends keyof NodeModules>(name: N): NodeModules[N] {
  return nodeProcess()!.getBuiltinModule(name);
}
