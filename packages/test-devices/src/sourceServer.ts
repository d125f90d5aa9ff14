import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Specifiers of the packages' entries, and where their sources are served. */
const imports: Readonly<Record<string, string>> = sourceEntries();

function sourceEntries(): Record<string, string> {
  const folders = readdirSync(join(root, "packages")).filter((folder) => existsSync(join(root, "packages", folder, "package.json")));
  return Object.fromEntries(
    folders.flatMap((folder) => {
      const manifest: Manifest = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8"));
      return Object.entries(manifest.exports ?? {}).flatMap(([path, entry]) => {
        const source = typeof entry === "string" ? undefined : entry["@centella/source"];
        return source === undefined ? [] : [[manifest.name + path.slice(1), `/packages/${folder}/${source.slice(2)}`] as const];
      });
    }),
  );
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | { readonly "@centella/source"?: string }>>;
}

/** Import maps are the page's alone: in workers the packages are found by these paths. */
function withPaths(code: string): string {
  return code.replaceAll(/(\bfrom |\bimport\()"(@[^"]+)"/g, (all, before: string, name: string) =>
    Object.hasOwn(imports, name) ? `${before}"${imports[name]}"` : all,
  );
}

/** Workers take the modules of their page from the browser's cache. Each server has a port of its own. */
const kept = { "cache-control": "max-age=3600" };

/** Content types of sources and models. */
function typeOf(path: string): string | undefined {
  if (/^\/packages\/[\w-]+\/src\/.*\.ts$/.test(path)) return "text/javascript";
  return /^\/packages\/model-fable\/models\/[\w-]+\.gguf$/.test(path) ? "application/octet-stream" : undefined;
}

const page = `<!doctype html><title>tests</title><script type="importmap">${JSON.stringify({ imports })}</script>`;

/** With these the page is cross-origin isolated, as threads need it. */
const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** Serves the packages' TypeScript to browsers, types stripped, and a page that can import it. */
export async function serveSources(): Promise<{ readonly url: string; close(): void }> {
  const server: Server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    if (path === "/") {
      response.writeHead(200, { ...headers, "content-type": "text/html" }).end(page);
      return;
    }
    const type = typeOf(path);
    if (type === undefined || !existsSync(join(root, path))) {
      response.writeHead(404, headers).end();
      return;
    }
    try {
      const bytes = readFileSync(join(root, path));
      const body = path.endsWith(".ts") ? withPaths(stripTypeScriptTypes(bytes.toString("utf8"))) : bytes;
      response.writeHead(200, { ...headers, ...kept, "content-type": type }).end(body);
    } catch (error) {
      response.writeHead(500, headers).end(String(error));
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}
