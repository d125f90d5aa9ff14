import { ArgumentError } from "@centella/core";
import { check, nonEmptyString } from "@centella/quant/checks";

/**
 * Keeps the forms of kernels that were the fastest on a device. Keys and values are short texts. Both methods may return promises. A store
 * that fails, or has something else under a key, costs a new measurement and nothing else.
 */
export interface TuningStore {
  /** Returns the value that `set` was given for the key, undefined or null if there is none. Anything but a string counts as none. */
  get(key: string): unknown;
  set(key: string, value: string): unknown;
}

/** The used part of `node:fs/promises`. */
interface Files {
  readFile(path: string, encoding: "utf8"): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

/**
 * A store in a JSON file of Node, Deno or Bun. Its folder must exist; the file is written when the first choice is made.
 * @throws {ArgumentError} for an empty path, and where there are no files
 */
export function tuningFile(path: string): TuningStore {
  check("tuningFile", "path", path, nonEmptyString);
  const { process } = globalThis as { process?: { readonly pid: number; getBuiltinModule?(name: string): unknown } };
  const files = process?.getBuiltinModule?.("node:fs/promises") as Files | undefined;
  if (process === undefined || files === undefined) {
    throw new ArgumentError("tuningFile", "Node, Deno or Bun; give an object with get and set in a browser", "a host without files");
  }
  const readAll = async (): Promise<Readonly<Record<string, unknown>>> => {
    const text = await files.readFile(path, "utf8").catch(() => "{}");
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  };
  const newest = (): Promise<Readonly<Record<string, unknown>>> => readAll().catch(() => ({}));
  let writing: Promise<unknown> = Promise.resolve();
  const write = async (key: string, value: string): Promise<void> => {
    // Other processes may have added to the file.
    const choices = { ...(await newest()), [key]: value };
    const partial = `${path}.${process.pid}`;
    await files.writeFile(partial, `${JSON.stringify(choices, undefined, 2)}\n`);
    await files.rename(partial, path);
  };
  return {
    get: async (key) => (await newest())[key],
    set: (key, value) => {
      writing = writing.then(() => write(key, value));
      const written = writing;
      writing = writing.catch(() => undefined);
      return written;
    },
  };
}
