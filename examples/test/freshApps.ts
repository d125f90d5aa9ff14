import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Copies of examples outside of the repository, with the packed tarballs of the packages installed, as if these were published. */
export class FreshApps implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "centella-fresh-"));

  constructor(names: readonly string[]) {
    const isPublic = (name: string): boolean =>
      JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).private !== true;
    const packages = readdirSync(join(root, "packages")).filter(isPublic);
    for (const name of packages) {
      this.#pnpm(["--dir", join(root, "packages", name), "pack", "--out", join(this.folder, "tarballs", `${name}.tgz`)]);
    }
    const isSource = (path: string): boolean => !/\/(node_modules|dist|\.next|test)(\/|$)/.test(path.slice(root.length));
    for (const name of names) cpSync(join(root, "examples", name), join(this.folder, name), { recursive: true, filter: isSource });
    // The versions of all other packages are those of the lockfile.
    cpSync(join(root, "examples/pnpm-lock.yaml"), join(this.folder, "pnpm-lock.yaml"));
    const workspace = readFileSync(join(root, "examples/pnpm-workspace.yaml"), "utf8");
    const withTarballs = workspace.replaceAll(/\w+:\.\.\/packages\/(.*)/g, "file:tarballs/$1.tgz").replace(/.*test-devices.*\n/, "");
    writeFileSync(join(this.folder, "pnpm-workspace.yaml"), withTarballs);
    writeFileSync(join(this.folder, "package.json"), JSON.stringify({ name: "fresh", private: true }));
    this.#pnpm(["install", "--no-frozen-lockfile", "--prefer-offline"]);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #pnpm(args: readonly string[]): void {
    execFileSync("pnpm", args, { cwd: this.folder, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, CI: "" } });
  }
}
