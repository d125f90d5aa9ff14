// Packs every publishable package and checks the tarballs as npm users would get them: publint, and attw if they have types. Of the packages
// with an addon, only that of this machine's platform can be packed.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./workspace.mjs";

const folder = mkdtempSync(join(tmpdir(), "centella-pack-"));
let failed = false;
const addons = "backend-cuda/platforms";
const isHere = (platform) => platform === `${process.platform}-${process.arch}`;
const names = [
  ...readdirSync(join(root, "packages")),
  ...readdirSync(join(root, "packages", addons))
    .filter(isHere)
    .map((platform) => `${addons}/${platform}`),
];
const withTypes = new Set();
for (const name of names) {
  const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
  if (manifest.private) continue;
  if (manifest.exports) withTypes.add(tarballOf(manifest));
  failed = run(["pnpm", "--dir", join("packages", name), "pack", "--pack-destination", folder], { stdio: "ignore" }) !== 0 || failed;
}
for (const tarball of readdirSync(folder).sort()) {
  console.log(tarball);
  failed = run(["publint", join(folder, tarball), "--strict"]) !== 0 || failed;
  if (!withTypes.has(tarball)) continue;
  failed =
    run(["attw", join(folder, tarball), "--profile", "esm-only", "--format", "ascii", "--no-definitely-typed"], {
      stdio: ["ignore", "pipe", "inherit"],
    }) !== 0 || failed;
}
rmSync(folder, { recursive: true });
process.exitCode = failed ? 1 : 0;

function tarballOf({ name, version }) {
  return `${name.slice(1).replace("/", "-")}-${version}.tgz`;
}
