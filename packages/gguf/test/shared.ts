import { existsSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared"));

/** Path of an outside test file, or undefined where the data is not there. */
export function sharedPath(name: string): string | undefined {
  const path = resolve(root, name);
  return existsSync(path) ? path : undefined;
}
