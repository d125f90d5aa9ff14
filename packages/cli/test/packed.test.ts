import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const packages = readdirSync(join(root, "packages")).filter((name) => {
  const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as { readonly private?: boolean };
  return manifest.private !== true;
});
/** What users import. Of the suite that is the part that needs no vitest, which the project has not. */
const entries = packages.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as { readonly exports: object };
  const paths = Object.keys(exports).filter((path) => path !== "./package.json" && !(name === "conformance" && path === "."));
  return paths.map((path) => `@centella/${name}${path.slice(1)}`);
});
const project = mkdtempSync(join(tmpdir(), "centella-packed-"));

/** What a user does: tarballs of all packages installed into an empty project. */
beforeAll(() => {
  for (const name of packages) {
    execFileSync("pnpm", ["--dir", join(root, "packages", name), "pack", "--pack-destination", project], { stdio: "ignore" });
  }
  const tarballs = Object.fromEntries(packages.map((name) => [`@centella/${name}`, `file:./${tarballOf(name)}`]));
  // The one outside dependency comes from this checkout, so that the test needs no network.
  const commander = realpathSync(join(root, "packages/cli/node_modules/commander"));
  // Users of React have its types.
  const reactTypes = `file:${realpathSync(join(root, "packages/react/node_modules/@types/react"))}`;
  const overrides = [...Object.entries(tarballs), ["commander", `file:${commander}`], ["@types/react", reactTypes]];
  const dependencies = { ...tarballs, "@types/react": reactTypes };
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", type: "module", dependencies }));
  writeFileSync(join(project, "pnpm-workspace.yaml"), ["overrides:", ...overrides.map(([name, at]) => `  "${name}": "${at}"`)].join("\n"));
  execFileSync("pnpm", ["install", "--offline", "--no-frozen-lockfile"], {
    cwd: project,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, CI: "" },
  });
}, 180_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("the README's example runs on the installed tarballs", () => {
  const [, example] = /```ts\n(import \{ wasm \}[\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  expect(example).toContain("loadModel");
  writeFileSync(join(project, "example.js"), example!);
  const story = node("example.js");
  expect(story.length).toBeGreaterThan(80);
  expect(story).toMatch(/^[\x20-\x7e\n–—‘’“”]+$/);
});

test("the installed command generates the same ids twice for one seed", () => {
  const run = (): { ids: number[]; opsByBackend: Record<string, number> } =>
    JSON.parse(node("node_modules/@centella/cli/bin/centella.js", "run", "-n", "8", "--seed", "1", "--backend", "wasm", "--json"));
  const first = run();
  expect(first.ids).toHaveLength(8);
  expect(run().ids).toEqual(first.ids);
  expect(Object.keys(first.opsByBackend)).toEqual(["wasm"]);
});

test("every library can be required", () => {
  const libraries = entries.filter((entry) => !entry.endsWith(".wasm"));
  writeFileSync(
    join(project, "require.cjs"),
    `for (const name of ${JSON.stringify(libraries)}) console.log(name, Object.keys(require(name)).length > 0);`,
  );
  expect(node("require.cjs").trim().split("\n")).toEqual(libraries.map((name) => `${name} true`));
});

// apps/bench/budgets.json says how large they may be.
const settings = {
  "a page's project": { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"], types: [] },
  "Node's project without dom": { module: "nodenext", lib: ["es2022"], types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
};

describe.each(["typescript-5.7", "typescript-5.9", "typescript"])("declarations compile without skipLibCheck by %s", (compiler) => {
  test.each(Object.entries(settings))("in %s", (_name, options) => {
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false };
    const compilerOptions = { ...strict, ...options, target: "es2022", noEmit: true };
    writeFileSync(join(project, "entries.ts"), entries.map((entry, i) => `export * as entry${i} from "${entry}";\n`).join(""));
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["entries.ts"] }));
    const { stdout } = spawnSync(process.execPath, [join(root, "node_modules", compiler, "bin/tsc"), "-p", "."], {
      cwd: project,
      encoding: "utf8",
    });
    expect(ownErrors(stdout)).toEqual([]);
  });
});

/** What the compiler says, but for declarations of the libraries that packages adapt to: those do not compile without `skipLibCheck`. */
function ownErrors(output: string): readonly string[] {
  const others = /^node_modules\/\.pnpm\/(?:@ai-sdk\+provider|@langchain\+core|langsmith)@/;
  return output.split("\n").filter((line) => /error TS/.test(line) && !others.test(line));
}

test("tarballs hold what they should and nothing else", () => {
  for (const name of packages) {
    const files = execFileSync("tar", ["-tzf", tarballOf(name)], { cwd: project, encoding: "utf8" })
      .trim()
      .split("\n");
    expect(files, name).toEqual(expect.arrayContaining(["package/README.md", "package/LICENSE"]));
    expect(
      files.filter((path) => /tsbuildinfo|\.map$|\/(?:test|src)\//.test(path)),
      name,
    ).toEqual([]);
    // Neither more nor less than the last build wrote: incremental builds leave files of sources that are gone.
    const built = JSON.parse(readFileSync(new URL(`../../${name}/build/dist.json`, import.meta.url), "utf8")) as readonly string[];
    expect(files.filter((path) => path.startsWith("package/dist/")).sort(), name).toEqual(
      built.map((path) => `package/dist/${path}`).sort(),
    );
  }
});

test("published manifests have no entries for the workspace, and say whose they are", () => {
  for (const name of packages) {
    const text = execFileSync("tar", ["-xzOf", tarballOf(name), "package/package.json"], { cwd: project, encoding: "utf8" });
    expect(text, name).not.toMatch(/@centella\/source|workspace:|devDependencies|bundle\.mjs/);
    const url = "https://github.com/centella/centella";
    expect(JSON.parse(text), name).toMatchObject({
      description: expect.stringMatching(/^[A-Z].{20,}/),
      keywords: expect.arrayContaining([expect.any(String)]),
      homepage: `${url}/tree/main/packages/${name}#readme`,
      bugs: { url: `${url}/issues` },
      author: "Centella",
      repository: { type: "git", url: `git+${url}.git`, directory: `packages/${name}` },
    });
  }
});

function tarballOf(name: string): string {
  return readdirSync(project).find((file) => new RegExp(`^centella-${name}-\\d.*\\.tgz$`).test(file))!;
}

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: project, encoding: "utf8", timeout: 60_000 });
}
