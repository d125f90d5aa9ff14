import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
const readManifest = (path: string): Manifest => JSON.parse(readFileSync(join(root, path), "utf8"));

test("the workspace has each package of this clone", () => {
  const overrides = readFileSync(join(root, "examples/pnpm-workspace.yaml"), "utf8").matchAll(
    /"@centella\/(.*)": \w+:\.\.\/packages\/(.*)/g,
  );
  const packages = readdirSync(join(root, "packages"));
  expect([...overrides].map(([, name, folder]) => [name, folder])).toEqual(packages.map((name) => [name, name]));
});

test.each(globSync("examples/*/package.json", { cwd: root }))("%s asks for the current versions", (path) => {
  const own = Object.entries(readManifest(path).dependencies ?? {}).filter(([name]) => name.startsWith("@centella/"));
  const current = own.map(([name]) => [name, `^${readManifest(`packages/${name.slice("@centella/".length)}/package.json`).version}`]);
  expect(own).toEqual(current);
});

test("the README lists each example", () => {
  const links = readFileSync(join(root, "examples/README.md"), "utf8").matchAll(/\]\(([\w-]+)\)/g);
  const listed = new Set([...links].map(([, name]) => name!));
  const examples = globSync("examples/*/README.md", { cwd: root }).map((path) => path.split("/")[1]!);
  expect([...listed].sort()).toEqual(examples.filter((name) => name !== "snippets").sort());
});
