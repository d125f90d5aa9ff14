import { boolean, callback, check, checkOptions, type Kinds } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { shownUrl } from "../http/secrets.ts";
import { url } from "../kinds.ts";
import { shownPath } from "../shown.ts";
import { requireNodeModule } from "../source/nodeModule.ts";
import { placeOf } from "../source/place.ts";
import { isCode, reasonOf, unlessMissing } from "../source/systemError.ts";
import { uniqueId } from "../source/uniqueId.ts";
import type { ByteSink } from "./byteSink.ts";

/** Options for writing a file. */
export interface WholeFileOptions {
  /** Replace a file that exists, keeping its permissions; a symbolic link is followed. Default false: it is an error, `exists`. */
  readonly overwrite?: boolean;
}

const wholeFileKinds: Kinds<WholeFileOptions> = { overwrite: boolean };

/**
 * Writes a file that gets its name only when it is complete and on the medium (Node). Until then it is `NAME.ID.partial` in the same
 * folder, a unique name. An error removes the partial file. If the process is killed, the file remains, and no later call uses it.
 *
 * Without `overwrite`, a file that appears under the name in the meantime is not replaced. Resolves to the result of `write`.
 * @throws {GgufError} `exists`, `io`, `range` for a URL that is not a `file:` URL, and whatever `write` throws; {ArgumentError} for
 * arguments of the wrong types
 */
export async function writeWholeFile<T>(
  target: string | URL,
  write: (sink: ByteSink) => Promise<T>,
  options: WholeFileOptions = {},
): Promise<T> {
  check("writeWholeFile", "target", target, url);
  check("writeWholeFile", "write", write, callback);
  const { overwrite = false } = checkOptions("writeWholeFile", options, wholeFileKinds);
  return writeAt(diskPath(target), write, overwrite);
}

async function writeAt<T>(path: string, write: (sink: ByteSink) => Promise<T>, overwrite: boolean): Promise<T> {
  const fs = requireNodeModule("node:fs/promises", path);
  const failed = (cause: unknown): never => {
    throw isCode(cause, "EEXIST") ? exists(path) : cannotWrite(path, cause);
  };
  const target = overwrite ? ((await unlessMissing(fs.realpath(path)).catch(failed)) ?? path) : path;
  const replaced = await unlessMissing(overwrite ? fs.stat(target) : fs.lstat(target)).catch(failed);
  if (replaced !== undefined && !overwrite) throw exists(path);
  if (replaced?.isFile() === false) throw cannotWrite(path, new Error("it is not a regular file"));
  const temporary = temporaryName(target);
  const handle = await fs.open(temporary, "wx").catch(failed);
  try {
    if (replaced !== undefined) {
      await handle.chmod(replaced.mode & 0o7777).catch(failed);
      // Only root may change the owner; otherwise the caller owns the new file.
      await handle.chown(replaced.uid, replaced.gid).catch(() => undefined);
    }
    const result = await write({
      async write(bytes) {
        for (let done = 0; done < bytes.length; ) {
          const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, null).catch(failed);
          done += bytesWritten;
        }
      },
    });
    await handle.sync().catch(failed);
    await handle.close().catch(failed);
    await (overwrite ? fs.rename(temporary, target) : renameToNew(temporary, target)).catch(failed);
    return result;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await fs.rm(temporary, { force: true });
    throw error;
  }
}

/** Renames a file to a new name. @throws the system's EEXIST if a file has that name */
async function renameToNew(from: string, to: string): Promise<void> {
  const fs = requireNodeModule("node:fs/promises", to);
  try {
    await fs.link(from, to);
  } catch (error) {
    if (isCode(error, "EEXIST")) throw error;
    // The file system has no hard links, as FAT. An empty file reserves the name; it remains only if the process is killed right here.
    await (await fs.open(to, "wx")).close();
    await fs.rename(from, to);
    return;
  }
  await fs.rm(from, { force: true });
}

/** Returns the path that a string or URL names (see `placeOf`). @throws {GgufError} `range` if it does not name a file on this machine */
export function diskPath(place: string | URL): string {
  const found = placeOf(place);
  if (found.kind === "path") return found.path;
  if (found.kind === "url" && found.url.protocol === "file:") return requireNodeModule("node:url", found.url.href).fileURLToPath(found.url);
  throw new GgufError("range", { expected: "a path or a file: URL to write to", got: `'${shownUrl(place)}'` });
}

function temporaryName(path: string): string {
  const { basename, dirname, join } = requireNodeModule("node:path", path);
  // Names have at most 255 bytes, and a character has up to three.
  return join(dirname(path), `${basename(path).slice(0, 64)}.${uniqueId()}.partial`);
}

function exists(path: string): GgufError {
  const hint = "remove it, or choose another name";
  return new GgufError("exists", { expected: "a new file", got: `'${shownPath(path)}', which exists`, hint });
}

/** Returns the error of a file that cannot be written. */
export function cannotWrite(path: string, cause: unknown): GgufError {
  const got = reasonOf(cause);
  return new GgufError("io", { expected: "a writable file", got, summary: `cannot write '${shownPath(path)}': ${got}`, cause });
}
