import { openSource } from "../source/source.ts";
import { uniqueId } from "../source/uniqueId.ts";
import type { ModelStorage } from "./storage.ts";

/** Reads a small JSON object from the storage. Returns undefined if it is missing or cannot be parsed. */
export async function readRecord(storage: ModelStorage, name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if ((await storage.size(name)) === undefined) return undefined;
  const source = await openSource(await storage.input(name));
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(await source.read(0, source.size)));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  } finally {
    await source.close?.();
  }
}

/** Writes a record in one step, by renaming a temporary file. */
export async function writeRecord(storage: ModelStorage, name: string, value: object): Promise<void> {
  // A unique name, because another process may write the same record.
  const temporary = `${name}.${uniqueId()}.tmp`;
  const writer = await storage.write(temporary, 0);
  try {
    await writer.write(new TextEncoder().encode(JSON.stringify(value)));
  } finally {
    await writer.close();
  }
  await storage.rename(temporary, name);
}
