// Writes the extension to dist: node build.ts [MODEL]
import { copyFile, cp, rm } from "node:fs/promises";
import { argv } from "node:process";
import { fable } from "@centella/model-fable";
import { build } from "esbuild";

const [, , model = fable] = argv;
await rm("dist", { recursive: true, force: true });
await cp("src", "dist", { recursive: true, filter: (path) => !path.endsWith(".js") });
await copyFile(model, "dist/model.gguf");
await build({
  entryPoints: ["background", "engine", "offscreen", "popup"].map((name) => `src/${name}.js`),
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  outdir: "dist",
});
