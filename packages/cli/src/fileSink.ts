import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { ByteSink } from "@centella/gguf";
import { UsageError } from "./usageError.ts";

/** Writes a file that has its name only when it is complete. @throws {UsageError} if there is one already */
export async function writeFile(path: string, write: (sink: ByteSink) => Promise<unknown>): Promise<void> {
  if (existsSync(path)) throw new UsageError(`expected a new file, got ${path}, which exists; remove it first`);
  const partial = `${path}.partial`;
  const handle = await open(partial, "w");
  try {
    await write({
      async write(bytes) {
        for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
      },
    });
    await handle.sync();
    await handle.close();
    await rename(partial, path);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}
