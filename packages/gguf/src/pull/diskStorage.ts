import { requireNodeModule } from "../nodeModule.ts";
import { environment } from "./environment.ts";
import type { ModelStorage, StorageWriter } from "./storage.ts";

/**
 * Models in a folder of the disk (Node). Default: `centella/models` in the user's cache: `XDG_CACHE_HOME`, on Windows `LOCALAPPDATA`, else
 * `~/.cache`.
 */
export async function diskStorage(folder?: string): Promise<ModelStorage> {
  const fs = requireNodeModule("node:fs/promises", folder ?? "the cache");
  const root = folder ?? defaultFolder();
  const path = (name: string): string => `${root}/${name}`;
  const ifThere = async <T>(promise: Promise<T>): Promise<T | undefined> =>
    promise.catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return undefined;
      throw error;
    });
  return {
    location: root,
    names: async () => (await ifThere(fs.readdir(root))) ?? [],
    size: async (name) => (await ifThere(fs.stat(path(name))))?.size,
    input: async (name) => path(name),
    async write(name, offset): Promise<StorageWriter> {
      await fs.mkdir(root, { recursive: true });
      const handle = await fs.open(path(name), (await ifThere(fs.stat(path(name)))) === undefined ? "w" : "r+");
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
      const file = path(`${name}.lock`);
      for (let attempt = 0; attempt < 2; attempt++) {
        const handle = await fs.open(file, "wx").catch((error: unknown) => {
          if (isCode(error, "EEXIST")) return undefined;
          throw error;
        });
        if (handle !== undefined) {
          const id = new TextEncoder().encode(String(processId()));
          await handle.write(id, 0, id.length, 0);
          await handle.close();
          return () => fs.rm(file, { force: true });
        }
        // A process that died leaves its lock behind.
        const owner = Number(await ifThere(fs.readFile(file, "utf8")));
        if (owner > 0 && isAlive(owner)) return undefined;
        await fs.rm(file, { force: true });
      }
      return undefined;
    },
  };
}

function defaultFolder(): string {
  const { homedir } = requireNodeModule("node:os", "the cache");
  const cache = environment("XDG_CACHE_HOME") ?? environment("LOCALAPPDATA") ?? `${homedir()}/.cache`;
  return `${cache}/centella/models`;
}

interface NodeProcess {
  readonly pid: number;
  kill(pid: number, signal: 0): boolean;
}

function nodeProcess(): NodeProcess {
  return (globalThis as { readonly process?: NodeProcess }).process!;
}

const processId = (): number => nodeProcess().pid;

function isAlive(pid: number): boolean {
  try {
    return nodeProcess().kill(pid, 0);
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
