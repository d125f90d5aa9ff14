// Writes dist/start.cjs, with which every command starts, and dist/run.cjs: `centella run` and all code of ours that it may load, as one
// function in one script, which src/start.ts runs. Its first line has a hash of the rest. Commander is part of it, with its licence: as
// modules, its files take another 30 ms. Sources are bundled, not what packages publish: their smaller modules are more often left out.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { parseSync } from "rolldown/utils";

/** All is one file, also what other commands load on demand. */
const checks = { ineffectiveDynamicImport: false };

const isOutside = (id) => !/^(?:[./]|@centella\/|commander$)/.test(id);

/** Replaces what only modules have: `import.meta.url`, and imports of what stays outside. */
function withoutModules() {
  return {
    name: "no modules",
    transform: {
      filter: { code: /\bimport\.meta\.url\b|\bimport\(/ },
      handler(code, id) {
        const url = () => `urlOf("@centella/${/.*\/packages\/([^/]+)\//.exec(id)[1]}")`;
        const changes = [];
        visit(parseSync(id, code).program, (node) => {
          if (node.type === "MemberExpression" && node.object.type === "MetaProperty") changes.push([node.start, node.end, url()]);
          if (node.type === "ImportExpression" && isOutside(node.source.value ?? "outside"))
            changes.push([node.start, node.source.start, `importFrom(${url()}, `]);
        });
        for (const [start, end, text] of changes.sort(([a], [b]) => b - a)) code = code.slice(0, start) + text + code.slice(end);
        return { code, map: null };
      },
    },
  };
}

/** Requires built-in modules with the modules that import them. Otherwise the script requires all of them when it starts. */
function lazyBuiltins() {
  const before = "\0lazy ";
  return {
    name: "lazy built-in modules",
    resolveId: {
      filter: { id: /^node:/ },
      handler: (id, importer) => (importer.startsWith(before) ? { id, external: true } : before + id),
    },
    load: {
      filter: { id: /^\0lazy / },
      handler: (id) => `module.exports = require("${id.slice(before.length)}");`,
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
  "src/runAlone.ts",
  {
    external: (id) => isOutside(id) && !/^(?:node:|\0)/.test(id),
    resolve: { conditionNames: ["@centella/source", "node", "import", "default"] },
    plugins: [withoutModules(), lazyBuiltins()],
  },
  {
    entryFileNames: "run.js",
    chunkFileNames: "[name].js",
    minify: true,
  },
);
const licence = readFileSync(join(dirname(createRequire(import.meta.url).resolve("commander")), "LICENSE"), "utf8").trim();
const files = output.map(({ fileName, code }) => `${JSON.stringify(`./${fileName}`)}(exports, require) {${escaped(code)}\n}`);
const script = `/* Parts are commander's.\n${licence} */\n(function (outside, importFrom, urlOf) {
const files = {${files.join(",\n")}};
const loaded = {};
function require(id) {
if (!(id in files)) return outside(id);
if (!(id in loaded)) files[id](loaded[id] = {}, require);
return loaded[id];
}
require("./run.js");
})`;
const hash = createHash("sha256").update(script).digest("hex").slice(0, 16);
writeFileSync("dist/run.cjs", `// ${hash}\n${script}\n`);
writeFileSync("build/dist.json", JSON.stringify(readdirSync("dist")));
