import { check, string } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import { requireNodeModule } from "../source/nodeModule.ts";
import { isCode, reasonOf, unlessMissing } from "../source/systemError.ts";
import { lockOnDisk } from "./diskLock.ts";
import { environment } from "./environment.ts";
import type { ModelStorage, StorageWriter } from "./storage.ts";

/**
 * Stores models in a folder on disk (Node). Default: `centella/models` in the user's cache folder, which is `XDG_CACHE_HOME`, on Windows
 * `LOCALAPPDATA`, or `~/.cache`.
 */
export async function diskStorage(folder?: string): Promise<ModelStorage> {
  if (folder !== undefined) check("diskStorage", "folder", folder, string);
  const fs = requireNodeModule("node:fs/promises", folder ?? "the cache");
  const root = folder ?? defaultFolder();
  const path = (name: string): string => `${root}/${name}`;
  return {
    location: root,
    names: async () => (await orUnusable(root, unlessMissing(fs.readdir(root)))) ?? [],
    size: async (name) => (await orUnusable(root, unlessMissing(fs.stat(path(name)))))?.size,
    input: async (name) => path(name),
    write: (name, offset) => orUnusable(root, openWriter(root, path(name), offset)),
    sync: (name) => orUnusable(root, syncFile(path(name))),
    rename: (from, to) => orUnusable(root, fs.rename(path(from), path(to))),
    remove: (name) => orUnusable(root, fs.rm(path(name), { force: true })),
    async freeBytes() {
      await orUnusable(root, fs.mkdir(root, { recursive: true }));
      const { bavail, bsize } = await orUnusable(root, fs.statfs(root));
      return bavail * bsize;
    },
    async lock(name) {
      await orUnusable(root, fs.mkdir(root, { recursive: true }));
      return orUnusable(root, lockOnDisk(root, name));
    },
  };
}

async function openWriter(root: string, path: string, offset: number): Promise<StorageWriter> {
  const fs = requireNodeModule("node:fs/promises", path);
  await fs.mkdir(root, { recursive: true });
  const handle = await fs.open(path, (await unlessMissing(fs.stat(path))) === undefined ? "w" : "r+");
  await handle.truncate(offset);
  let at = offset;
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await orUnusable(root, handle.write(bytes, done, bytes.length - done, at));
        done += bytesWritten;
        at += bytesWritten;
      }
    },
    close: () => handle.close(),
  };
}

async function syncFile(path: string): Promise<void> {
  const handle = await requireNodeModule("node:fs/promises", path).open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Returns the result. @throws {GgufError} `quota` if the disk is full, `storage` for other system errors */
async function orUnusable<T>(root: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof GgufError) throw cause;
    const isFull = isCode(cause, "ENOSPC") || isCode(cause, "EDQUOT");
    const hint = isFull ? "remove models that you do not need" : "check the folder, or choose another one";
    const got = reasonOf(cause);
    throw new GgufError(isFull ? "quota" : "storage", { expected: `the storage ${shownPath(root)} to be usable`, got, hint, cause });
  });
}

function defaultFolder(): string {
  const { homedir } = requireNodeModule("node:os", "the cache");
  const cache = environment("XDG_CACHE_HOME") ?? environment("LOCALAPPDATA") ?? `${homedir()}/.cache`;
  return `${cache}/centella/models`;
}
