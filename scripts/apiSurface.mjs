// The public API of every package, as text: `node scripts/apiSurface.mjs` compares what the built declarations export with docs/api,
// `--write` brings docs/api up to date. So a change to the API is deliberate and shows in the diff. Build first.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, "docs/api");

/** Top-level statements of a declaration file, comments apart: `{ text, isDocumented }`. */
function statementsOf(path) {
  const statements = [];
  let [doc, text, depth, inComment] = [false, "", 0, false];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const trimmed = line.trim();
    if (inComment || trimmed.startsWith("/*")) {
      // Options whose members are explained need no sentence of their own.
      doc = true;
      inComment = !trimmed.endsWith("*/");
      continue;
    }
    if (trimmed === "" || trimmed.startsWith("//")) continue;
    text += `${text === "" ? "" : "\n"}${line.trimEnd()}`;
    for (const char of line.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "")) {
      if ("{([".includes(char)) depth++;
      else if ("})]".includes(char)) depth--;
    }
    if (depth === 0 && /[;}]$/.test(trimmed)) {
      statements.push({ text, isDocumented: doc });
      [doc, text] = [false, ""];
    }
  }
  return statements;
}

const declaration = /^export (?:default )?(?:declare )?(?:abstract )?(interface|type|class|function|const|enum) (\w+)/;

/** What a file exports, by name. */
function exportsOf(path) {
  const found = new Map();
  for (const { text, isDocumented } of statementsOf(path)) {
    const from = /^export (?:type )?(\*|\{[^}]*\}) from "(.+)";$/s.exec(text);
    const own = declaration.exec(text);
    if (from !== null) {
      // What another package declares stands in that package's surface.
      const isOwn = from[2].startsWith(".");
      const target = isOwn ? exportsOf(declarationFile(path, from[2])) : new Map();
      if (from[1] === "*") for (const entry of target) found.set(...entry);
      else {
        for (const item of from[1].slice(1, -1).split(",")) {
          const [name, as = name] = item
            .trim()
            .replace(/^type /, "")
            .split(" as ");
          if (name === "") continue;
          if (!isOwn) target.set(name, { text: `export { ${item.trim()} } from "${from[2]}";`, isDocumented: true });
          if (!target.has(name)) throw new Error(`${relative(root, path)}: expected ${from[2]} to export ${name}, got nothing`);
          found.set(as, target.get(name));
        }
      }
    } else if (own !== null) {
      const before = found.get(own[2]);
      // Overloads are one entry.
      const all = before === undefined ? text : `${before.text}\n${text}`;
      found.set(own[2], { text: all, isDocumented: isDocumented || (before?.isDocumented ?? false), file: relative(root, path) });
    }
  }
  return found;
}

/** The declarations that an import in a declaration file names. */
function declarationFile(path, specifier) {
  return resolve(dirname(path), specifier.replace(/\.(ts|js)$/, ".d.ts"));
}

/** Private members are no API; their names are hidden behind one. */
function normalised(text) {
  return text.replace(/^\s*(#private|private [^;]*);\n/gm, "").replace(/^export declare /gm, "export ");
}

function surfaceOf(name) {
  const directory = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  if (manifest.private === true || manifest.exports === undefined) return undefined;
  const undocumented = [];
  const sections = Object.entries(manifest.exports).flatMap(([entry, target]) => {
    const { types, "@centella/source": source } = target;
    if (types === undefined) return [];
    // Of sources, what tsc writes, one declaration file for each module: those in dist are bundled.
    const path = join(directory, source?.replace("./src/", "build/esm/").replace(/\.ts$/, ".d.ts") ?? types);
    if (!existsSync(path)) throw new Error(`${relative(root, path)} is missing: build first`);
    const all = [...exportsOf(path)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [symbol, { isDocumented, file }] of all) if (!isDocumented) undocumented.push(`${manifest.name}: ${symbol} (${file})`);
    return [`// ${join(manifest.name, entry)}`, ...all.map(([, { text }]) => normalised(text))];
  });
  return sections.length === 0 ? undefined : { text: `${sections.join("\n\n")}\n`, undocumented };
}

const surfaces = new Map(
  readdirSync(join(root, "packages")).flatMap((name) => {
    const surface = surfaceOf(name);
    return surface === undefined ? [] : [[`${name}.txt`, surface]];
  }),
);

if (process.argv.includes("--write")) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, { text }] of surfaces) writeFileSync(join(folder, file), text);
}
const committed = existsSync(folder) ? readdirSync(folder) : [];
const stale = [...new Set([...committed, ...surfaces.keys()])].filter((file) => {
  const path = join(folder, file);
  return !existsSync(path) || readFileSync(path, "utf8") !== surfaces.get(file)?.text;
});
for (const file of stale) {
  const [old = [], now = []] = [
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "",
    surfaces.get(file)?.text ?? "",
  ].map((text) => text.split("\n"));
  console.error(`docs/api/${file}: the public API is another:`);
  for (const line of old.filter((each) => !now.includes(each)).slice(0, 20)) console.error(`  - ${line}`);
  for (const line of now.filter((each) => !old.includes(each)).slice(0, 20)) console.error(`  + ${line}`);
}
const undocumented = [...surfaces.values()].flatMap((surface) => surface.undocumented);
for (const each of undocumented) console.error(`no doc comment: ${each}`);
if (stale.length > 0) console.error("If that is meant: pnpm build && node scripts/apiSurface.mjs --write, and a changeset that says so.");
process.exitCode = stale.length + undocumented.length > 0 ? 1 : 0;
