import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { DeviceProperties } from "./driver.ts";

/** Size of the folder from which the files that were written the longest ago are removed, until half of it is left. */
const maxBytes = 256 * 2 ** 20;

const digestBytes = 32;

/** `centella/kernels` in the user's cache folder: `XDG_CACHE_HOME`, on Windows `LOCALAPPDATA`, or `~/.cache`. */
export function defaultFolder({ XDG_CACHE_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv = process.env): string {
  return join(XDG_CACHE_HOME || LOCALAPPDATA || join(homedir(), ".cache"), "centella", "kernels");
}

/**
 * Machine code of kernels in a folder: a file for each text, kind of device and driver. A file is written under another name first, and
 * starts with a digest of its content, so a damaged file counts as absent. A folder that cannot be read or written is an empty one.
 */
export class CodeCache {
  readonly #folder: string;
  readonly #target: string;
  readonly #maxBytes: number;
  readonly #writes = new Set<Promise<void>>();
  #hasSwept = false;

  constructor(folder: string, { computeCapability, driverVersion }: DeviceProperties, limit: number = maxBytes) {
    this.#folder = folder;
    this.#target = `${computeCapability.join(".")} ${driverVersion}`;
    this.#maxBytes = limit;
  }

  /** The code of a kernel's text, if it was kept. */
  async read(ptx: string): Promise<Uint8Array | undefined> {
    return verified(await readFile(this.#path(ptx)).catch(() => undefined));
  }

  /** The same within the call. */
  readSync(ptx: string): Uint8Array | undefined {
    try {
      return verified(readFileSync(this.#path(ptx)));
    } catch {
      return undefined;
    }
  }

  /** Keeps code for later processes, in the background. */
  write(ptx: string, code: Uint8Array): void {
    const written = this.#write(this.#path(ptx), code).catch(() => undefined);
    this.#writes.add(written);
    void written.then(() => this.#writes.delete(written));
  }

  /** Resolves when everything is written. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes);
  }

  async #write(path: string, code: Uint8Array): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const unfinished = `${path}.${randomUUID()}.partial`;
    try {
      await writeFile(unfinished, [digest(code), code], { mode: 0o600 });
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    if (this.#hasSwept) return;
    this.#hasSwept = true;
    await this.#sweep();
  }

  /** Removes old files from a folder that is too large. */
  async #sweep(): Promise<void> {
    const files = await Promise.all(
      (await readdir(this.#folder)).map(async (name) => {
        const path = join(this.#folder, name);
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

  #path(ptx: string): string {
    return join(this.#folder, createHash("sha256").update(`${this.#target}\n${ptx}`).digest("hex"));
  }
}

/** The code in a file, unless it is damaged. */
function verified(file: Uint8Array | undefined): Uint8Array | undefined {
  if (file === undefined || file.length <= digestBytes) return undefined;
  const code = file.subarray(digestBytes);
  return digest(code).equals(file.subarray(0, digestBytes)) ? code : undefined;
}

function digest(code: Uint8Array): Buffer {
  return createHash("sha256").update(code).digest();
}
