import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryFolder } from "../receipts/store.ts";

/** The playground, built into a folder of its own. */
export async function buildPlayground(): Promise<Disposable & { readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  const root = join(repositoryFolder, "apps/playground");
  const vite = join(root, "node_modules/vite/bin/vite.js");
  await promisify(execFile)(process.execPath, [vite, "build", "--logLevel", "error", "--outDir", folder, "--emptyOutDir"], { cwd: root });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
