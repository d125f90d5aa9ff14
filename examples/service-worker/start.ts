// Builds the example and serves it: node start.ts MODEL.gguf [PORT]
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** With these headers the page may have threads. */
const isolation = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** The scripts by their names. `conditions` are those of package exports. */
async function bundle(conditions: readonly string[]): Promise<Map<string, Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: ["page.js", "models.js", "serviceWorker.js"],
    absWorkingDir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    outdir: folder,
    write: false,
    conditions: [...conditions],
  });
  return new Map(outputFiles.map(({ path, contents }) => [path.slice(folder.length - 1).replaceAll("\\", "/"), contents]));
}

/** Serves the page with the model of this path. Returns the server. */
export async function start(model: string, port: number, conditions: readonly string[] = []): Promise<Server> {
  const files = await bundle(conditions);
  files.set("/", await readFile(`${folder}index.html`));
  files.set("/model.gguf", await readFile(model));
  const server = createServer(({ url = "/" }, response) => {
    const body = files.get(url);
    const type = url.endsWith(".gguf") ? "application/octet-stream" : url.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(body === undefined ? 404 : 200, { ...isolation, "content-type": type }).end(body ?? "Not found");
  });
  await new Promise<void>((resolve) => server.listen(port, "localhost", resolve));
  return server;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , model, port = "8080"] = argv;
  if (model === undefined) throw new Error("start: expected the path of a model; node start.ts MODEL.gguf [PORT]");
  const server = await start(model, Number(port));
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
}
