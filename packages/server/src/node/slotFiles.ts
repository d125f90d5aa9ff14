import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ArgumentError } from "@centella/quant";
import { check, describe, nonEmptyString } from "@centella/quant/checks";
import type { SlotStore } from "../slotStore.ts";

/** Saves slots as files of a folder, which is created if it is missing. @throws {ArgumentError} unless `folder` is a path */
export function slotFiles(folder: string): SlotStore {
  check("slotFiles", "folder", folder, nonEmptyString);
  const pathOf = (name: string): string => {
    if (basename(name) !== name || name === "." || name === "..") throw new ArgumentError("slotFiles", "a plain name", describe(name));
    return join(folder, name);
  };
  return {
    async write(name, bytes) {
      const path = pathOf(name);
      const partial = `${path}.${crypto.randomUUID()}.partial`;
      await mkdir(folder, { recursive: true });
      try {
        await writeFile(partial, bytes);
        await rename(partial, path);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },
    async read(name) {
      try {
        return await readFile(pathOf(name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}
