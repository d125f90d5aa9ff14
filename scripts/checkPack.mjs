// Packs every publishable package and checks the tarballs as npm users would get them: publint and attw.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./workspace.mjs";

const folder = mkdtempSync(join(tmpdir(), "centella-pack-"));
let failed = false;
for (const name of readdirSync(join(root, "packages"))) {
  const manifest = join(root, "packages", name, "package.json");
  if (JSON.parse(readFileSync(manifest, "utf8")).private) continue;
  failed = run(["pnpm", "--dir", join("packages", name), "pack", "--pack-destination", folder], { stdio: "ignore" }) !== 0 || failed;
}
for (const tarball of readdirSync(folder).sort()) {
  console.log(tarball);
  failed = run(["publint", join(folder, tarball), "--strict"]) !== 0 || failed;
  failed =
    run(["attw", join(folder, tarball), "--profile", "esm-only", "--format", "ascii", "--no-definitely-typed"], {
      stdio: ["ignore", "pipe", "inherit"],
    }) !== 0 || failed;
}
rmSync(folder, { recursive: true });
process.exitCode = failed ? 1 : 0;
