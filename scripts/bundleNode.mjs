// Writes dist/node of the package whose folder it is run in: what it exports under the condition "node", in few files. Node takes a quarter
// of a millisecond to find, read and compile each. Bundlers that build for pages do not see them: modules one by one are what they leave
// out best. Arguments name further modules that Node starts by their URL; with --together what is imported late comes with the rest, where
// Node loads nearly all of it in any case.
import { readFileSync, rmSync } from "node:fs";
import { build } from "rolldown";

const folder = "dist/node";
const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const exported = Object.values(exports).flatMap(({ node, default: from }) =>
  node === undefined ? [] : [[node.slice(`./${folder}/`.length, -".js".length), from]],
);
const isTogether = process.argv.includes("--together");
const paths = process.argv.slice(2).filter((argument) => argument !== "--together");
const started = paths.map((path) => [path.replace(/^.*\/|\.js$/g, ""), `./dist/${path}`]);

rmSync(folder, { recursive: true, force: true });
// Entries share their modules: a class is one, whatever it is imported through.
await build({
  input: Object.fromEntries([...exported, ...started]),
  external: /^[^./]/,
  platform: "node",
  output: {
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: false,
    ...(isTogether && { codeSplitting: { groups: [{ name: "all", test: /./ }] } }),
  },
});
