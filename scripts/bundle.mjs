// Writes dist of the package whose folder it runs in, from what tsc wrote to build/esm: what the package publishes, for Node and for
// bundlers. Arguments name modules in build/esm that the package starts by their URL, such as workers, and other files to copy.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { parseSync } from "rolldown/utils";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

const [from, to] = ["build/esm", "dist"];
const isOutside = (id) => !/^[./]/.test(id);

/** Paths of the entries that the manifest exports, by their names in dist, with the ending `type`. */
function entriesOf(manifest, type) {
  const sources = Object.values(manifest.exports).flatMap(({ "@centella/source": source, types }) =>
    source === undefined ? [] : [[nameOf(types), resolve(from, source.replace("./src/", "").replace(/\.ts$/, type))]],
  );
  return Object.fromEntries(sources);
}

function nameOf(path) {
  return basename(path).replace(/(\.d)?\.[jt]s$/, "");
}

/** These entries and the modules that they import dynamically, by name, and what each module imports. */
async function analyse(input) {
  const [found, imports] = [{ ...input }, new Map()];
  const collect = {
    name: "imports",
    moduleParsed({ id, importedIds, dynamicallyImportedIds }) {
      imports.set(id, importedIds);
      for (const imported of dynamicallyImportedIds) {
        const [name, known] = [nameOf(imported), found[nameOf(imported)]];
        if (isOutside(imported) || known === imported) continue;
        if (known !== undefined)
          throw new Error(`bundle: expected entries and dynamic imports of different names, got ${known} and ${imported}; rename one`);
        found[name] = imported;
      }
    },
  };
  const bundle = await rolldown({ input, external: isOutside, plugins: [collect] });
  await bundle.generate();
  return { entries: found, imports };
}

/** Names of the entries that import each module statically. Modules that `isSeparate` accepts, and what only these import, have none. */
function importersOf(entries, imports, isSeparate = () => false) {
  const found = new Map();
  for (const [name, entry] of Object.entries(entries)) {
    const visit = (id) => {
      const names = found.get(id) ?? [];
      if (!imports.has(id) || isSeparate(id) || names.includes(name)) return;
      found.set(id, [...names, name]);
      imports.get(id).forEach(visit);
    };
    imports.get(entry).forEach(visit);
  }
  return found;
}

/**
 * Names the file of a module that the package's index and further entries import. It has all modules that the same exported entries always
 * load, because Node takes a third of a millisecond for each file.
 */
function sharedFiles(exported, { entries, imports }) {
  const separate = new Set(Object.values(entries));
  const [always, all] = [importersOf(exported, imports, (id) => separate.has(id)), importersOf(entries, imports)];
  return (id) => {
    const names = always.get(id) ?? [];
    return names.includes("index") && all.get(id).length > 1 ? `${names.join("-")}-shared` : null;
  };
}

/**
 * Marks calls in initialisers of modules as pure. `sideEffects: false` says this of modules one by one; in files of several, bundlers need it
 * said of each call, or they keep what a page never uses.
 */
function pureInitialisers() {
  return {
    name: "pure initialisers",
    transform: {
      filter: { id: /\.js$/ },
      handler(code, id) {
        const starts = new Set();
        for (const statement of parseSync(id, code).program.body) {
          const { type, declarations } = statement.declaration ?? statement;
          if (type === "VariableDeclaration") for (const { init } of declarations) findCalls(init, starts);
        }
        const parts = [0, ...[...starts].sort((a, b) => a - b)].map((start, i, all) => code.slice(start, all[i + 1]));
        return { code: parts.join("/* @__PURE__ */ "), map: null };
      },
    },
  };
}

/** Adds where the calls start that evaluating the node makes. */
function findCalls(node, starts) {
  if (typeof node !== "object" || node === null || /Function|ClassBody/.test(node.type)) return;
  if (node.type === "CallExpression" || node.type === "NewExpression") starts.add(node.start);
  for (const child of Object.values(node)) findCalls(child, starts);
}

/**
 * Modules that are imported dynamically are entries, too, even if another entry imports them statically: a page that uses neither loads
 * neither.
 */
async function bundleModules(manifest, started) {
  const exported = entriesOf(manifest, ".js");
  const graph = await analyse({ ...exported, ...Object.fromEntries(started.map((path) => [nameOf(path), resolve(from, path)])) });
  const bundle = await rolldown({
    input: graph.entries,
    external: isOutside,
    platform: "neutral",
    // The default where dependencies of grouped modules may be elsewhere.
    preserveEntrySignatures: "allow-extension",
    plugins: manifest.sideEffects === false ? [pureInitialisers()] : [],
  });
  await bundle.write({
    dir: to,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    comments: { legal: true, annotation: true, jsdoc: false },
    codeSplitting: { groups: [{ debugName: "shared", name: sharedFiles(exported, graph), includeDependenciesRecursively: false }] },
  });
}

/**
 * The same entries for Node, with everything that they may import in one further file: Node takes about a millisecond for each file, most of
 * them when a model is loaded. Only for packages whose exports have the condition "node".
 */
async function bundleForNode(manifest) {
  if (!Object.values(manifest.exports).some(({ node }) => node !== undefined)) return;
  const bundle = await rolldown({
    input: entriesOf(manifest, ".js"),
    external: isOutside,
    platform: "neutral",
    preserveEntrySignatures: "allow-extension",
    plugins: [pureInitialisers()],
    // All is one file, also what is loaded on demand elsewhere.
    checks: { ineffectiveDynamicImport: false },
  });
  await bundle.write({
    dir: to,
    entryFileNames: "[name].node.js",
    chunkFileNames: "[name].node.js",
    comments: { legal: true, annotation: true, jsdoc: false },
    codeSplitting: { groups: [{ name: "all" }] },
  });
}

/** Global types that a project may lack, by what names them. They merge with those of TypeScript's libraries and of `@webgpu/types`. */
const globals = [
  [/\bCryptoKey\b/, "interface CryptoKey {}"],
  [/\bGPU\b/, "interface GPU {}"],
  [/\bMessagePort\b/, "interface MessagePort {}"],
  [/\bWebAssembly\.Module\b/, "namespace WebAssembly {\n    interface Module {}\n  }"],
];

/** Declarations that compile without `skipLibCheck`, whether or not `lib` and `types` name what they mention. */
function selfContained() {
  return {
    name: "self-contained declarations",
    renderChunk(text) {
      const code = text.replace(/\/\*.*?\*\//gs, "");
      const isDisposable = /\b(?:Async)?Disposable\b|\bSymbol\.(?:asyncD|d)ispose\b/.test(code);
      const declared = globals.flatMap(([name, declaration]) => (name.test(code) ? [declaration] : []));
      const before = isDisposable ? '/// <reference lib="esnext.disposable" />\n' : "";
      const after = declared.length > 0 ? `declare global {\n  ${declared.join("\n  ")}\n}\n` : "";
      return { code: before + text + after, map: null };
    },
  };
}

async function bundleTypes(manifest) {
  const bundle = await rollup({ input: entriesOf(manifest, ".d.ts"), external: isOutside, plugins: [dts(), selfContained()] });
  await bundle.write({ dir: to, entryFileNames: "[name].d.ts", chunkFileNames: ({ name }) => `${nameOf(`${name}.ts`)}.d.ts` });
}

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
rmSync(to, { recursive: true, force: true });
mkdirSync(to);
const files = process.argv.slice(2);
const isModule = (path) => path.endsWith(".js");
await bundleModules(manifest, files.filter(isModule));
await bundleForNode(manifest);
await bundleTypes(manifest);
for (const path of files) if (!isModule(path)) copyFileSync(path, join(to, basename(path)));
// Builds that come from a cache leave older files in dist; this list says which belong there.
writeFileSync("build/dist.json", JSON.stringify(readdirSync(to)));
