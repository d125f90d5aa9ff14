import { openSource } from "../source/source.ts";
import { uniqueId } from "../source/uniqueId.ts";
import type { ModelStorage } from "./storage.ts";

/** A small JSON object in the storage; undefined where there is none, or one that cannot be read. */
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

/** Writes it whole or not at all. */
export async function writeRecord(storage: ModelStorage, name: string, value: object): Promise<void> {
  // Not the same name twice: another process may write the same record.
  const temporary = `${name}.${uniqueId()}.tmp`;
  const writer = await storage.write(temporary, 0);
  try {
    await writer.write(new TextEncoder().encode(JSON.stringify(value)));
  } finally {
    await writer.close();
  }
  await storage.rename(temporary, name);
}
