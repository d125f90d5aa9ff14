import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { appFolder, repositoryFolder } from "../receipts/store.ts";
import { exactly, type Figure } from "./budget.ts";

/** KiB of every package as npm would download it, and of a page that generates text on the CPU. */
export function sizeFigures(): readonly Figure[] {
  return [
    ...publishedPackages().map(
      (folder): Figure => ({ name: `tarball of ${folder}`, unit: "KiB", measure: async () => exactly(tarballBytes(folder) / 1024) }),
    ),
    {
      name: "JavaScript of a page that generates text on the CPU, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await pageBytes()) / 1024),
    },
  ];
}

function publishedPackages(): readonly string[] {
  const packages = join(repositoryFolder, "packages");
  return readdirSync(packages).filter((folder) => {
    const manifest = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8")) as { readonly private?: boolean };
    return manifest.private !== true;
  });
}

function tarballBytes(folder: string): number {
  const to = mkdtempSync(join(tmpdir(), "centella-size-"));
  try {
    execFileSync("pnpm", ["pack", "--pack-destination", to], { cwd: join(repositoryFolder, "packages", folder), stdio: "ignore" });
    return readdirSync(to).reduce((sum, file) => sum + statSync(join(to, file)).size, 0);
  } finally {
    rmSync(to, { recursive: true });
  }
}

/** Everything that a bundler puts into such a page, all on one line. */
async function pageBytes(): Promise<number> {
  const contents = `
    import { createRuntime } from "@centella/core";
    import { wasm } from "@centella/backend-wasm";
    import { loadModel } from "@centella/llm";
    export const load = async (source) => loadModel(source, { runtime: await createRuntime({ backends: [wasm()] }) });
  `;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: appFolder },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    external: ["node:*"],
    write: false,
    logLevel: "silent",
  });
  return outputFiles.reduce((sum, { contents: bytes }) => sum + gzipSync(bytes, { level: 9 }).length, 0);
}
