// Writes the tables that list every file of a folder, such as the table of ops: `node scripts/writeIndexes.mjs` fails where one is stale,
// `--write` updates it. In such a folder the file, its export and its place in the table have one name.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

/** `table`: the object with an entry for each file. `members`: an interface with a member for each file. `ending`: of the files' names. */
const indexes = [
  { file: "packages/core/src/ops/index.ts", folder: "packages/core/src/ops", table: "ops", members: "Ops" },
  { file: "packages/core/src/references.ts", folder: "packages/core/src/ops", table: "references", ending: ".reference.ts" },
  { file: "packages/conformance/src/cases/index.ts", folder: "packages/conformance/src/cases", table: "cases" },
  { file: "packages/gpu-kernels/src/gpuKernels.ts", folder: "packages/gpu-kernels/src/kernels", table: "gpuKernels" },
];

/** Names of the files with an ending; for `.ts`, of the files without a further ending such as `.reference`. */
function namesIn(folder, ending) {
  return readdirSync(join(root, folder))
    .flatMap((file) => {
      const name = file.slice(0, -ending.length);
      return file.endsWith(ending) && /^\w+$/.test(name) && name !== "index" ? [name] : [];
    })
    .sort();
}

/** Replaces the lines between the line that matches `start` and `end`. */
function withLines(text, start, end, lines, file) {
  const from = text.search(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${file}: expected ${start} and after it ${end}, got neither`);
  const first = text.indexOf("\n", from) + 1;
  return `${text.slice(0, first)}${lines.join("\n")}${text.slice(to)}`;
}

function updated({ file, folder, table, members, ending = ".ts" }) {
  const names = namesIn(folder, ending);
  const path = relative(dirname(join(root, file)), join(root, folder));
  const from = (name) => `"./${join(path, `${name}${ending}`)}"`;
  const before = readFileSync(join(root, file), "utf8");
  const listed = new RegExp(
    `^import \\{ \\w+ \\} from "\\./${path === "" ? "" : `${path}/`}\\w+${ending.replaceAll(".", "\\.")}";\n`,
    "gm",
  );
  const rest = before.replace(listed, "");
  const imports = names.map((name) => `import { ${name} } from ${from(name)};\n`).join("");
  let text = imports + rest;
  if (members !== undefined) {
    const lines = names.map((name) => `  readonly ${name}: typeof ${name};`);
    text = withLines(text, new RegExp(`^export interface ${members} \\{`, "m"), "\n}\n", lines, file);
  }
  text = withLines(
    text,
    new RegExp(`^(export )?const ${table}\\b.*= \\{$`, "m"),
    "\n};\n",
    names.map((name) => `  ${name},`),
    file,
  );
  // Biome sorts the imports and entries as everywhere else.
  return { file, before, after: formatted(file, text) };
}

function formatted(file, text) {
  const biome = join(root, "node_modules/.bin/biome");
  return execFileSync(biome, ["check", "--write", `--stdin-file-path=${file}`], { cwd: root, input: text, encoding: "utf8" });
}

const stale = indexes.map(updated).filter(({ before, after }) => before !== after);
for (const { file, after } of stale) {
  if (process.argv.includes("--write")) writeFileSync(join(root, file), after);
  else console.error(`${file}: expected an entry for each file of its folder; run node scripts/writeIndexes.mjs --write`);
}
process.exitCode = stale.length > 0 && !process.argv.includes("--write") ? 1 : 0;
