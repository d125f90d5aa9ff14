// What `npm start` and `npm test` share. Runs on Node 20 with nothing installed: built-in modules only.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "node_modules", ".bin");
const stamp = join(root, "node_modules", ".centella-installed");

/** Installs the workspace unless this very lockfile is installed; then the network is not touched. */
export function install() {
  const wanted = installHash();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("centella: installing the workspace (pnpm; about 20 seconds the first time) …");
  const { packageManager } = readJson(join(root, "package.json"));
  const pnpm = existsSync(join(bin, "pnpm")) ? [join(bin, "pnpm")] : ["npx", "--yes", "--prefer-offline", packageManager];
  // The machine's Node may be older than the packages ask for: it only installs the Node that runs them, so a warning would mislead.
  must([...pnpm, "install", "--frozen-lockfile", "--prefer-offline", "--reporter=append-only", "--loglevel=error"], {
    stdio: ["ignore", 2, 2],
  });
  writeFileSync(stamp, wanted);
}

/** Installs a workspace of its own, such as the one of the examples. Nothing is fetched if its lockfile is installed. */
export function installWorkspace(folder, options = []) {
  must(
    ["pnpm", "--dir", folder, ...options, "install", "--frozen-lockfile", "--prefer-offline", "--reporter=append-only", "--loglevel=error"],
    {
      stdio: ["ignore", 2, 2],
    },
  );
}

/** Builds what changed since the last build. */
export function build() {
  console.error("centella: building (turbo; unchanged packages come from its cache) …");
  must([join(bin, "turbo"), "run", "build", "--output-logs=new-only", "--log-order=grouped", "--log-prefix=task"], {
    stdio: ["ignore", 2, 2],
    env: { TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" },
  });
  prune();
}

/** Removes what was built from sources that are gone: incremental builds and turbo's cache keep it, and tarballs would have it. */
function prune() {
  for (const group of ["packages", "apps"]) {
    for (const name of readdirSync(join(root, group))) {
      const folder = join(root, group, name);
      for (const modules of [join(folder, "build/esm"), join(folder, "dist")].filter(existsSync)) {
        const isCurrent = modules.endsWith("esm") || !existsSync(join(folder, "build/dist.json")) ? isOfSource(folder) : isBundled(folder);
        for (const path of readdirSync(modules, { recursive: true }))
          if (!isCurrent(path)) rmSync(join(modules, path), { recursive: true, force: true });
      }
    }
  }
}

/** Whether a file that tsc wrote has its source; other files are left alone. */
function isOfSource(folder) {
  return (path) => {
    const source = /^(.*)\.(?:js|d\.ts)(?:\.map)?$/.exec(path)?.[1];
    return source === undefined || existsSync(join(folder, "src", `${source}.ts`));
  };
}

/** Whether the last run of scripts/bundle.mjs put a file in dist. */
function isBundled(folder) {
  const names = new Set(readJson(join(folder, "build/dist.json")));
  return (path) => names.has(path);
}

/** Runs a command with the workspace's own tools, Node 24 among them, first on the PATH; gives its exit code. */
export function run([command, ...args], { stdio = "inherit", env = {} } = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio,
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  if (result.error) {
    console.error(`centella: cannot run ${command}: ${result.error.message}`);
    return 1;
  }
  return result.status ?? 130;
}

function must(command, options) {
  const code = run(command, options);
  if (code !== 0) process.exit(code);
}

function installHash() {
  const manifests = ["packages", "apps"].flatMap((group) =>
    readdirSync(join(root, group))
      .map((name) => join(root, group, name, "package.json"))
      .filter(existsSync),
  );
  const hash = createHash("sha256");
  for (const file of [join(root, "package.json"), join(root, "pnpm-lock.yaml"), join(root, "pnpm-workspace.yaml"), ...manifests.sort()]) {
    hash.update(readFileSync(file));
  }
  return hash.digest("hex");
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}
