import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A server on the loopback that counts. */
export interface TestServer extends AsyncDisposable {
  readonly url: URL;
  readonly requests: IncomingMessage[];
  /** Bytes handed to all connections. */
  bytesSent(): number;
}

export async function serve(
  handle: (request: IncomingMessage, response: ServerResponse, server: TestServer) => void | Promise<void>,
): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let closedBytes = 0;
  const requests: IncomingMessage[] = [];
  const http = createServer((request, response) => {
    requests.push(request);
    response.on("error", () => undefined);
    void Promise.resolve(handle(request, response, server)).catch(() => response.destroy());
  });
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      closedBytes += socket.bytesWritten;
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server: TestServer = {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`),
    requests,
    bytesSent: () => closedBytes + [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

/** The range that a request asks for, within `size` bytes. */
export function rangeOf(request: IncomingMessage, size: number): { readonly start: number; readonly end: number } | undefined {
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  if (match === null) return undefined;
  return { start: Number(match[1]), end: Math.min(size, match[2] === "" ? size : Number(match[2]) + 1) };
}

/** Answers as a server of static files does: ranges, If-Range, ETag. `read` gives the bytes of a file of `size`. */
export async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  {
    size,
    etag,
    read,
    headers = {},
  }: { size: number; etag?: string; read: (start: number, end: number) => Uint8Array; headers?: Record<string, string> },
): Promise<void> {
  const ifRange = request.headers["if-range"];
  const range = ifRange === undefined || ifRange === etag ? rangeOf(request, size) : undefined;
  if (range !== undefined && range.start >= size) {
    response.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
    return;
  }
  const { start, end } = range ?? { start: 0, end: size };
  response.writeHead(range === undefined ? 200 : 206, {
    "Content-Length": String(end - start),
    ...(range === undefined ? {} : { "Content-Range": `bytes ${start}-${end - 1}/${size}` }),
    ...(etag === undefined ? {} : { ETag: etag }),
    ...headers,
  });
  const step = 65_536;
  for (let at = start; at < end && !response.destroyed; at += step) {
    if (!response.write(read(at, Math.min(end, at + step)))) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          response.off("drain", done).off("close", done);
          resolve();
        };
        response.once("drain", done).once("close", done);
      });
    }
  }
  response.end();
}
