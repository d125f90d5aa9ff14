// Which Markdown files of the repository are pages of the site, and where.
import { globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Where a glob's files go: a function from the path in the repository to the path in the site. */
const places = [
  ["apps/docs/guides/**/*.md", (path) => path.slice("apps/docs/guides/".length, -".md".length).replace(/\/index$/, "")],
  ["packages/*/README.md", (path) => `packages/${basename(dirname(path))}`],
  ["examples/*/README.md", (path) => `examples/${basename(dirname(path))}`],
  ["examples/README.md", () => "examples"],
  ["ARCHITECTURE.md", () => "architecture"],
  ["docs/architecture/*.md", (path) => `architecture/${basename(path, ".md")}`],
  ["docs/parity.md", () => "comparison/llama-cpp"],
  ["docs/coverage.md", () => "comparison/ops"],
  ["apps/bench/README.md", () => "comparison/measurements"],
  ["CONTRIBUTING.md", () => "contributing"],
];

/** Paths in the site, without slashes at the ends, by paths in the repository. */
export const pages = new Map(
  places.flatMap(([glob, place]) =>
    globSync(glob, { cwd: root, exclude: (name) => name === "node_modules" })
      .sort()
      .map((path) => [path, place(path)]),
  ),
);

/** The page of a link's target: of a file, or of the README of a folder. */
export function pageOf(path) {
  return pages.get(path) ?? pages.get(join(path, "README.md"));
}
