import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** The built page in a folder of its own. */
export async function buildSite(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "playground-"));
  const vite = join(root, "node_modules/vite/bin/vite.js");
  // A process of its own: this one says to Vite that it is a test, and Vite would build for development.
  const { NODE_ENV: _, ...env } = process.env;
  await promisify(execFile)(execPath, [vite, "build", "--logLevel", "error", "--outDir", folder, "--emptyOutDir"], { cwd: root, env });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** A static host, as plain as they come: files, ranges, compression. */
export interface Host {
  readonly url: string;
  /** Bytes sent so far by path, compressed, without models. */
  readonly sent: Map<string, number>;
  /** Bytes of models sent so far. */
  modelBytes(): number;
  /** From now on downloads of models stop at half of the file, until the result is called. */
  holdModels(): () => void;
  close(): Promise<void>;
}

/** Serves the built page. `workerPrelude` is code that the engine's worker has before its own. */
export async function serveSite(folder: string, workerPrelude = ""): Promise<Host> {
  const sent = new Map<string, number>();
  const models: ServedModels = { bytes: 0, held: Promise.resolve() };
  const server = createServer((request, response) => answer(folder, { sent, models, workerPrelude }, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    // A folder, as on static hosts where a project has no host of its own.
    url: `http://127.0.0.1:${port}/playground/`,
    sent,
    modelBytes: () => models.bytes,
    holdModels() {
      let release = (): void => undefined;
      models.held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Compressed files by path and prelude. Several service workers fetch all files. */
const compressed = new Map<string, Buffer>();

function compressedFile(file: string, prelude: string): Buffer {
  const key = `${file} ${prelude}`;
  const body = compressed.get(key) ?? gzipSync(Buffer.concat([Buffer.from(prelude), readFileSync(file)]));
  compressed.set(key, body);
  return body;
}

interface ServedModels {
  bytes: number;
  /** Resolves when downloads may pass half of a file. */
  held: Promise<void>;
}

interface Served {
  readonly sent: Map<string, number>;
  readonly models: ServedModels;
  readonly workerPrelude: string;
}

function answer(folder: string, { sent, models, workerPrelude }: Served, request: IncomingMessage, response: ServerResponse): void {
  const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname).replace(/^\/playground\//, "");
  const file = join(folder, path === "" ? "index.html" : path);
  if (!existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const type = types[extname(file)] ?? "application/octet-stream";
  if (extname(file) === ".gguf") {
    void sendModel(readFileSync(file), models, request, response);
    return;
  }
  const body = compressedFile(file, path.startsWith("assets/engine-") ? workerPrelude : "");
  sent.set(path, (sent.get(path) ?? 0) + body.length);
  response.writeHead(200, { "content-type": type, "content-encoding": "gzip", "content-length": body.length }).end(body);
}

async function sendModel(
  bytes: Buffer,
  models: ServedModels,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
  const start = Number(range?.[1] ?? 0);
  const end = range?.[2] ? Math.min(Number(range[2]) + 1, bytes.length) : bytes.length;
  response.writeHead(range === null ? 200 : 206, {
    "content-type": "application/octet-stream",
    "content-length": end - start,
    etag: `"${bytes.length}"`,
    ...(range === null ? { "accept-ranges": "bytes" } : { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` }),
  });
  if (method === "HEAD") return void response.end();
  models.bytes += end - start;
  const half = Math.max(start, Math.min(end, bytes.length >> 1));
  response.write(bytes.subarray(start, half));
  await models.held;
  response.end(bytes.subarray(half, end));
}
