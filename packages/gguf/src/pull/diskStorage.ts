import { check, string } from "@centella/quant/checks";
import { requireNodeModule } from "../source/nodeModule.ts";
import { unlessMissing } from "../source/systemError.ts";
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
    names: async () => (await unlessMissing(fs.readdir(root))) ?? [],
    size: async (name) => (await unlessMissing(fs.stat(path(name))))?.size,
    input: async (name) => path(name),
    async write(name, offset): Promise<StorageWriter> {
      await fs.mkdir(root, { recursive: true });
      const handle = await fs.open(path(name), (await unlessMissing(fs.stat(path(name)))) === undefined ? "w" : "r+");
      await handle.truncate(offset);
      let at = offset;
      return {
        async write(bytes) {
          for (let done = 0; done < bytes.length; ) {
            const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at);
            done += bytesWritten;
            at += bytesWritten;
          }
        },
        close: () => handle.close(),
      };
    },
    async sync(name) {
      const handle = await fs.open(path(name), "r+");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    rename: (from, to) => fs.rename(path(from), path(to)),
    remove: (name) => fs.rm(path(name), { force: true }),
    async freeBytes() {
      await fs.mkdir(root, { recursive: true });
      const { bavail, bsize } = await fs.statfs(root);
      return bavail * bsize;
    },
    async lock(name) {
      await fs.mkdir(root, { recursive: true });
      return lockOnDisk(root, name);
    },
  };
}

function defaultFolder(): string {
  const { homedir } = requireNodeModule("node:os", "the cache");
  const cache = environment("XDG_CACHE_HOME") ?? environment("LOCALAPPDATA") ?? `${homedir()}/.cache`;
  return `${cache}/centella/models`;
}
