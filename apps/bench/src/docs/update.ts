import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Machine, machineSlug } from "../machine.ts";
import type { Receipt } from "../receipts/receipt.ts";
import { appFolder, repositoryFolder, storedReceipts } from "../receipts/store.ts";
import { receiptTable } from "../tables.ts";

/** Text between these markers is generated: `<!-- bench SUITE [MACHINE] -->` … `<!-- /bench -->`. */
const marked = /(<!-- bench ([\w.-]+)(?: ([\w.-]+))? -->\n)[\s\S]*?(<!-- \/bench -->)/g;

/** Updates the tables between markers in all Markdown files of the repository. Returns the files whose tables were stale. */
export function updateDocs({ write }: { readonly write: boolean }): readonly string[] {
  const receipts = storedReceipts().map(({ receipt }) => receipt);
  return markdownFiles().flatMap((path) => {
    const before = readFileSync(path, "utf8");
    const after = withTables(before, receipts);
    if (after === before) return [];
    if (write) writeFileSync(path, after);
    return [relative(repositoryFolder, path)];
  });
}

/** A Markdown text with the tables that its markers ask for, from the newest receipts. */
export function withTables(text: string, receipts: readonly Receipt[]): string {
  return text.replaceAll(marked, (_all, start: string, suite: string, machine: string | undefined, end: string) => {
    const fitting = receipts.filter(
      (receipt) => receipt.suite === suite && (machine === undefined || machineSlug(receipt.machine) === machine),
    );
    const newest = fitting.toSorted((a, b) => a.date.localeCompare(b.date)).at(-1);
    return `${start}\n${newest === undefined ? "No receipt has been committed yet." : section(newest)}\n\n${end}`;
  });
}

function section(receipt: Receipt): string {
  const { machine, date, commit, versions, command } = receipt;
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    receiptTable(receipt),
    "",
    `${describe(machine)}; ${others.join(", ")}; \`${command}\` at ${commit.sha.slice(0, 10)}, ${date.slice(0, 10)}. [Receipt](${receiptPath(receipt)}).`,
  ].join("\n");
}

function describe({ cpu, cores, gpus }: Machine): string {
  return [`${cpu}, ${cores} cores`, ...gpus.map(({ name, driver }) => `${name}, driver ${driver}`)].join("; ");
}

function receiptPath({ machine, date, suite }: Receipt): string {
  return `/apps/bench/results/${machineSlug(machine)}/${date.slice(0, 10)}-${suite}.json`;
}

function markdownFiles(): readonly string[] {
  const folders = [repositoryFolder, appFolder, join(repositoryFolder, "docs")];
  return folders.filter(existsSync).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
}
