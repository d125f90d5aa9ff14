import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { machineSlug } from "../machine.ts";
import { UsageError } from "../usageError.ts";
import type { Receipt } from "./receipt.ts";

/** `apps/bench`, whether this runs from dist or from sources. */
export const appFolder: string = fileURLToPath(new URL("../..", import.meta.url));
export const repositoryFolder: string = join(appFolder, "..", "..");
export const resultsFolder: string = join(appFolder, "results");

/**
 * Writes receipts: to one file if the path ends in `.json` (a list if there are several), else into a folder as
 * `<machine>/<date>-<suite>.json`. Returns the paths.
 */
export function writeReceipts(path: string, receipts: readonly Receipt[]): readonly string[] {
  if (path.endsWith(".json")) {
    write(path, receipts.length === 1 ? receipts[0] : receipts);
    return [path];
  }
  return receipts.map((receipt) => {
    const file = join(path, machineSlug(receipt.machine), `${receipt.date.slice(0, 10)}-${receipt.suite}.json`);
    write(file, receipt);
    return file;
  });
}

/** @throws {UsageError} if the file cannot be read or is no receipt */
export function readReceipts(path: string): readonly Receipt[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${path}: expected a receipt, got ${error instanceof Error ? error.message : String(error)}`);
  }
  const receipts = Array.isArray(content) ? content : [content];
  if (!receipts.every(isReceipt)) throw new UsageError(`${path}: expected a receipt that bench wrote with --json, got other JSON`);
  return receipts;
}

/** Every committed receipt with its path below the results folder, oldest first. */
export function storedReceipts(folder: string = resultsFolder): readonly { readonly path: string; readonly receipt: Receipt }[] {
  let paths: string[];
  try {
    paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".json"));
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
  return paths
    .flatMap((path) => readReceipts(join(folder, path)).map((receipt) => ({ path, receipt })))
    .toSorted((a, b) => a.receipt.date.localeCompare(b.receipt.date));
}

function isReceipt(value: unknown): value is Receipt {
  return typeof value === "object" && value !== null && "version" in value && "rows" in value && Array.isArray(value.rows);
}

/** Samples on one line each: receipts are read by people too. */
function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  const text = JSON.stringify(content, null, 1);
  writeFileSync(
    path,
    `${text.replaceAll(/\[\s+(-?[\d.e+-]+(?:,\s+-?[\d.e+-]+)*)\s+\]/g, (_all, numbers: string) => `[${numbers.replaceAll(/\s+/g, " ")}]`)}\n`,
  );
}
