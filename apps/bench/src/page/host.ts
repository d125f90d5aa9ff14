import { open, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

/** The connection between a host and its visitors. */
export interface Line {
  readonly bytesPerSecond: number;
  /** Time that each answer takes to begin, in ms. */
  readonly delayMs: number;
}

export interface HostOptions {
  /** The built page. */
  readonly folder: string;
  readonly line: Line;
  /** Whether the host sends the headers of cross-origin isolation, which threads need. */
  readonly isIsolated: boolean;
  /** A further file, at `/model.gguf`. */
  readonly model?: string;
}

/** A static host at the end of a line. */
export interface Host extends AsyncDisposable {
  readonly url: string;
  /** Bytes of models that were handed to connections. */
  modelBytes(): number;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

const isolation = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** Bytes that are written at a time. */
const pieceBytes = 2 ** 16;

export async function serveOn({ folder, line, isIsolated, model }: HostOptions): Promise<Host> {
  const pace = pacer(line.bytesPerSecond);
  const texts = new Map<string, Buffer>();
  let modelBytes = 0;
  const shared = isIsolated ? isolation : {};

  async function sendText(path: string, type: string, response: ServerResponse): Promise<void> {
    const body = texts.get(path) ?? gzipSync(await readFile(path));
    texts.set(path, body);
    response.writeHead(200, { ...shared, "content-type": type, "content-encoding": "gzip", "content-length": body.length });
    await write(response, body, pace);
    response.end();
  }

  async function sendModel(path: string, { method, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    await using file = await open(path);
    const { size } = await file.stat();
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
    const start = Number(range?.[1] ?? 0);
    const end = range?.[2] ? Math.min(Number(range[2]) + 1, size) : size;
    const ranged = { "content-range": `bytes ${start}-${end - 1}/${size}` };
    response.writeHead(range === null ? 200 : 206, { ...shared, "content-length": end - start, etag: `"${size}"`, ...(range && ranged) });
    if (method !== "HEAD") {
      for (let at = start; at < end && !response.destroyed; ) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(2 ** 20, end - at)), 0, undefined, at);
        modelBytes += await write(response, buffer.subarray(0, bytesRead), pace);
        at += bytesRead;
      }
    }
    response.end();
  }

  const server: Server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    await new Promise((resolve) => setTimeout(resolve, line.delayMs));
    const file = join(folder, path === "/" ? "index.html" : path);
    const type = types[extname(file)];
    const sent =
      path === "/model.gguf" && model !== undefined
        ? sendModel(model, request, response)
        : type === undefined
          ? sendModel(file, request, response)
          : sendText(file, type, response);
    await sent.catch(() => response.headersSent || response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    modelBytes: () => modelBytes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits until a line that all connections share has carried this many bytes more. */
type Pace = (bytes: number) => Promise<void>;

function pacer(bytesPerSecond: number): Pace {
  let freeMs = 0;
  return async (bytes) => {
    freeMs = Math.max(freeMs, performance.now()) + (1000 * bytes) / bytesPerSecond;
    const waitMs = freeMs - performance.now();
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
  };
}

/** Writes bytes in pieces. Returns how many were handed to the connection before it was closed. */
async function write(response: ServerResponse, bytes: Uint8Array, pace: Pace): Promise<number> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    await pace(piece.length);
    if (response.destroyed) return at;
    if (!response.write(piece))
      await new Promise<void>((resolve) => {
        const done = (): void => {
          response.off("drain", done).off("close", done);
          resolve();
        };
        response.on("drain", done).on("close", done);
      });
  }
  return bytes.length;
}
