// Writes the API reference, docs/api: every export of every package with its documentation. `node scripts/apiSurface.mjs` fails where the
// reference is stale or an export has no documentation, and `--write` updates it, so a change of the API is deliberate and shows in the
// diff. Build first.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, "docs/api");

/**
 * Top-level statements of a declaration file: `{ text, doc }`. `doc` is the text of the comment before the statement; comments of its
 * members stay in `text`.
 */
function statementsOf(path) {
  const statements = [];
  let [doc, text, depth, inComment] = [[], "", 0, false];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const trimmed = line.trim();
    const isComment = inComment || trimmed.startsWith("/*");
    if (isComment) inComment = !trimmed.endsWith("*/");
    if (isComment && text === "") {
      if (trimmed.startsWith("/*")) doc = [];
      doc.push(trimmed);
    }
    if (trimmed === "" || trimmed.startsWith("//") || (isComment && text === "")) continue;
    text += `${text === "" ? "" : "\n"}${line.trimEnd()}`;
    if (isComment) continue;
    for (const char of line.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "")) {
      if ("{([".includes(char)) depth++;
      else if ("})]".includes(char)) depth--;
    }
    if (depth === 0 && /[;}]$/.test(trimmed)) {
      statements.push({ text, doc: proseOf(doc) });
      [doc, text] = [[], ""];
    }
  }
  return statements;
}

/** A doc comment as Markdown. */
function proseOf(lines) {
  const text = lines.map((line) => line.replace(/\s*\*\/$/, "").replace(/^\/?\*+ ?/, "")).join("\n");
  return text
    .replace(/\{@link ([\w.]+)\}/g, "`$1`")
    .replace(/\s*@throws \{([^}]*)\} ?/g, "\n\nThrows `$1` ")
    .replace(/\s*@throws ?/g, "\n\nThrows ")
    .trim();
}

const declaration = /^export (?:default )?(?:declare )?(?:abstract )?(interface|type|class|function|const|enum) (\w+)/;

/** What a file exports, by name. */
function exportsOf(path) {
  const found = new Map();
  for (const { text, doc } of statementsOf(path)) {
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
          if (!isOwn) target.set(name, { text: `export { ${item.trim()} } from "${from[2]}";`, doc: `See \`${from[2]}\`.` });
          if (!target.has(name)) throw new Error(`${relative(root, path)}: expected ${from[2]} to export ${name}, got nothing`);
          found.set(as, target.get(name));
        }
      }
    } else if (own !== null) {
      const before = found.get(own[2]);
      // Overloads are one entry.
      const texts = [...(before === undefined ? [] : [before.text]), text];
      const docs = [...(before === undefined || before.doc === "" ? [] : [before.doc]), ...(doc === "" ? [] : [doc])];
      found.set(own[2], { text: texts.join("\n"), doc: [...new Set(docs)].join("\n\n"), file: relative(root, path) });
    }
  }
  return found;
}

/** The declarations that an import in a declaration file names. */
function declarationFile(path, specifier) {
  return resolve(dirname(path), specifier.replace(/\.(ts|js)$/, ".d.ts"));
}

/** An export as Markdown: its documentation, then its declaration without private members. */
function sectionOf(name, { text, doc }) {
  const code = text
    .replace(/^( *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^\s*(#private|private [^;]*);\n/gm, "")
    .replace(/^export declare /gm, "export ");
  return [`### ${name}`, ...(doc === "" ? [] : [doc]), `\`\`\`ts\n${code}\n\`\`\``];
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
    // Options whose members are explained need no sentence of their own.
    for (const [symbol, { text, doc, file }] of all)
      if (doc === "" && !text.includes("/**")) undocumented.push(`${manifest.name}: ${symbol} (${file})`);
    return [`## ${join(manifest.name, entry)}`, ...all.flatMap((each) => sectionOf(...each))];
  });
  const text = [`# API of ${manifest.name}`, "Written by `scripts/apiSurface.mjs` from the sources.", ...sections].join("\n\n");
  return sections.length === 0 ? undefined : { text: `${text}\n`, undocumented };
}

const surfaces = new Map(
  readdirSync(join(root, "packages")).flatMap((name) => {
    const surface = surfaceOf(name);
    return surface === undefined ? [] : [[`${name}.md`, surface]];
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
  console.error(`docs/api/${file}: expected what the packages export, got another API:`);
  for (const line of old.filter((each) => !now.includes(each)).slice(0, 20)) console.error(`  - ${line}`);
  for (const line of now.filter((each) => !old.includes(each)).slice(0, 20)) console.error(`  + ${line}`);
}
const undocumented = [...surfaces.values()].flatMap((surface) => surface.undocumented);
for (const each of undocumented) console.error(`no doc comment: ${each}`);
if (stale.length > 0) console.error("If that is meant: pnpm build && node scripts/apiSurface.mjs --write, and a changeset that says so.");
process.exitCode = stale.length + undocumented.length > 0 ? 1 : 0;
