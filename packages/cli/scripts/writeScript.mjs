// Writes dist/start.cjs, with which every command starts, and dist/script.cjs: `centella run`, `serve` and `batch` and all code of ours
// that they may load, as one function in one script, which src/start.ts runs. Its first line has a hash of the rest. Libraries that every
// start needs are part of it, with their licences: as modules, commander's files alone take another 30 ms. Sources are bundled, not what
// packages publish: their smaller modules are more often left out.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { parseSync } from "rolldown/utils";

/** All is one file, also what other commands load on demand. */
const checks = { ineffectiveDynamicImport: false };

/** Libraries of the script, by the package of ours that depends on them. */
const libraries = { commander: "cli", hono: "server", "@hono/node-server": "server", zod: "server" };
const isOutside = (id) => !/^(?:[./]|@centella\/)/.test(id) && !Object.keys(libraries).some((name) => `${id}/`.startsWith(`${name}/`));
/** What the script calls to get the URL of the package that has a module. */
const urlOfPackage = (id) => `urlOf("@centella/${/.*\/packages\/([^/]+)\//.exec(id)[1]}")`;

/** Replaces what only modules have: `import.meta.url`, and imports of what stays outside. */
function withoutModules() {
  return {
    name: "no modules",
    transform: {
      filter: { code: /\bimport\.meta\.url\b|\bimport\(/ },
      handler(code, id) {
        const changes = [];
        visit(parseSync(id, code).program, (node) => {
          if (node.type === "MemberExpression" && node.object.type === "MetaProperty")
            changes.push([node.start, node.end, urlOfPackage(id)]);
          if (node.type === "ImportExpression" && isOutside(node.source.value ?? "outside"))
            changes.push([node.start, node.source.start, `importFrom(${urlOfPackage(id)}, `]);
        });
        for (const [start, end, text] of changes.sort(([a], [b]) => b - a)) code = code.slice(0, start) + text + code.slice(end);
        return { code, map: null };
      },
    },
  };
}

/**
 * Requires built-in modules and other libraries with the modules that import them. Otherwise the script requires all of them when it starts.
 * A library is looked up from the package that imports it. Commander may start processes, but for no command of ours: the module for that,
 * which takes 3 ms, is required when it does.
 */
function lazyRequires() {
  const before = "\0lazy ";
  return {
    name: "lazy requires",
    resolveId: {
      filter: { id: /^[^./\0]/ },
      handler(id, importer) {
        if (importer === undefined || !isOutside(id)) return null;
        if (importer.startsWith(before)) return { id, external: true };
        if (id === "node:child_process") return `${before}{ get spawn() { return require("${id}").spawn; } }`;
        return before + (isBuiltin(id) ? `require("${id}")` : `requireFrom(${urlOfPackage(importer)}, "${id}")`);
      },
    },
    load: {
      filter: { id: /^\0lazy / },
      handler: (id) => `module.exports = ${id.slice(before.length)};`,
    },
  };
}

/** Gives the backends' code the versions that their builds have, by which kept kernels are found. */
function builtVersions() {
  return {
    name: "built versions",
    resolveId: {
      filter: { id: /\/codeVersion\.ts$/ },
      handler: (id, importer) => resolve(importer, "..", id).replace("/src/", "/build/esm/").replace(/\.ts$/, ".js"),
    },
  };
}

function visit(node, use) {
  if (typeof node !== "object" || node === null) return;
  if (typeof node.type === "string") use(node);
  for (const child of Object.values(node)) visit(child, use);
}

/** ASCII, as which Node reads a script fastest. */
function escaped(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function bundled(input, options, output) {
  const bundle = await rolldown({ input, platform: "node", checks, ...options });
  return (await bundle.generate({ format: "cjs", comments: false, ...output })).output;
}

const [start] = await bundled("src/start.ts", { external: /^(?:node:|\.\/main)/ });
writeFileSync("dist/start.cjs", start.code.replace("./main.ts", "./main.js"));

const output = await bundled(
  "src/script.ts",
  {
    resolve: { conditionNames: ["@centella/source", "node", "import", "default"] },
    plugins: [builtVersions(), withoutModules(), lazyRequires()],
  },
  {
    entryFileNames: "script.js",
    chunkFileNames: "[name].js",
    minify: true,
  },
);
const licences = Object.entries(libraries).map(([name, dependent]) => {
  const [folder] = createRequire(resolve(`../${dependent}/package.json`)).resolve.paths(name);
  return `${name}:\n${readFileSync(join(folder, name, "LICENSE"), "utf8").trim()}`;
});
const files = output.map(({ fileName, code }) => `${JSON.stringify(`./${fileName}`)}(exports, require) {${escaped(code)}\n}`);
const script = `/* Parts are other projects', under their licences.\n\n${licences.join("\n\n")} */\n(function (outside, importFrom, urlOf) {
const files = {${files.join(",\n")}};
const loaded = {};
const { createRequire } = outside("node:module");
const requireFrom = (url, id) => createRequire(url)(id);
function require(id) {
if (!(id in files)) return outside(id);
if (!(id in loaded)) files[id](loaded[id] = {}, require);
return loaded[id];
}
require("./script.js");
})`;
const hash = createHash("sha256").update(script).digest("hex").slice(0, 16);
writeFileSync("dist/script.cjs", `// ${hash}\n${script}\n`);
writeFileSync("build/dist.json", JSON.stringify(readdirSync("dist")));
