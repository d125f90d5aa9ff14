import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { diskStorage, GgufError, type PullOptions, pull } from "../src/index.ts";
import { rangeOf, sendFile, serve, type TestServer } from "./httpServer.ts";
import { writeGguf } from "./writer.ts";

/** Numbers from 0 to below 1, repeatable by their seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const faults = [
  "none",
  "cut",
  "reset",
  "slow",
  "stall",
  "wrong bytes",
  "ignores ranges",
  "ignores ranges and cuts",
  "says too much",
  "says too little",
  "sends too much",
  "status 503",
  "web page",
] as const;
export type Fault = (typeof faults)[number];

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A model of about `bytes` bytes whose data is random. */
export function randomModel(bytes: number, random: () => number): Uint8Array<ArrayBuffer> {
  const elements = Math.floor(bytes / 4);
  const data = Uint32Array.from({ length: elements }, () => random() * 2 ** 32);
  return writeGguf({
    metadata: [["general.architecture", "string", "test"]],
    tensors: [{ name: "t", type: "f32", shape: [elements], data: new Uint8Array(data.buffer) }],
  });
}

/**
 * A hub as Hugging Face's: `api/models/…/tree/…` lists `files` with their SHA-256, `…/resolve/…` redirects to the bytes, whose answers
 * `nextFault` decides.
 */
export function serveHub(
  files: Readonly<Record<string, Uint8Array>>,
  nextFault: (request: IncomingMessage) => Fault,
  random: () => number = Math.random,
): Promise<TestServer> {
  return serve(async (request, response) => {
    const { pathname } = new URL(request.url!, "http://hub");
    if (pathname.startsWith("/api/models/")) {
      const list = Object.entries(files).map(([path, bytes]) => ({
        type: "file",
        path,
        size: bytes.length,
        oid: "git",
        lfs: { oid: sha256(bytes), size: bytes.length },
      }));
      response.end(JSON.stringify(list));
      return;
    }
    const path = decodeURIComponent(pathname.replace(/^.*?\/(resolve\/main|cdn)\//, ""));
    const bytes = files[path];
    if (bytes === undefined) {
      response.writeHead(404).end();
    } else if (pathname.includes("/resolve/")) {
      const headers = { Location: `/cdn/${path}`, "X-Linked-ETag": `"${sha256(bytes)}"`, "X-Linked-Size": String(bytes.length) };
      response.writeHead(302, headers).end();
    } else {
      await answer(request, response, bytes, nextFault(request), random);
    }
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Uint8Array,
  fault: Fault,
  random: () => number,
): Promise<void> {
  const file = { size: bytes.length, etag: `"${bytes.length}"`, read: (start: number, end: number) => bytes.subarray(start, end) };
  const { start, end } = rangeOf(request, bytes.length) ?? { start: 0, end: bytes.length };
  const some = start + Math.floor(random() * (end - start));
  switch (fault) {
    case "none":
      return sendFile(request, response, file);
    case "cut":
      return sendFile(request, response, { ...file, read: cutAt(response, bytes, some) });
    case "reset":
      request.socket.destroy();
      return;
    case "slow":
    case "stall": {
      const pieces = fault === "slow" ? 20 : 3;
      response.writeHead(206, { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}`, ETag: file.etag });
      for (let i = 0; i < pieces && !response.destroyed; i++) {
        const step = (end - start) / 20;
        response.write(bytes.subarray(start + Math.floor(i * step), start + Math.floor((i + 1) * step)));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      if (fault === "slow") response.end();
      return;
    }
    case "wrong bytes": {
      const wrong = bytes.slice();
      wrong[some]! ^= 1 << Math.floor(random() * 8);
      return sendFile(request, response, { ...file, read: (from, to) => wrong.subarray(from, to) });
    }
    case "ignores ranges":
      delete request.headers.range;
      return sendFile(request, response, file);
    case "ignores ranges and cuts":
      delete request.headers.range;
      return sendFile(request, response, { ...file, read: cutAt(response, bytes, Math.floor(random() * bytes.length)) });
    case "says too much":
      response.writeHead(206, {
        "Content-Length": String(end - start + 1000),
        "Content-Range": `bytes ${start}-${end + 999}/${bytes.length + 1000}`,
        ETag: file.etag,
      });
      response.write(bytes.subarray(start, end), () => response.destroy());
      return;
    case "says too little":
      response.writeHead(200, { "Content-Length": String(some), ETag: file.etag });
      response.end(bytes.subarray(0, some));
      return;
    case "sends too much":
      response.writeHead(206, { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}`, ETag: file.etag });
      response.write(bytes.subarray(start, end));
      response.end(bytes.subarray(0, 1000));
      return;
    case "status 503":
      response.writeHead(503).end("<html>busy</html>");
      return;
    case "web page":
      response.writeHead(200, { "Content-Type": "text/html" }).end("<html>sign in</html>");
      return;
  }
}

function cutAt(response: ServerResponse, bytes: Uint8Array, place: number): (start: number, end: number) => Uint8Array {
  return (start, end) => {
    if (end > place) setImmediate(() => response.destroy());
    return bytes.subarray(start, Math.min(end, Math.max(start, place)));
  };
}

export interface FaultRun {
  readonly pulls: number;
  readonly aborts: number;
  readonly faults: readonly Fault[];
  /** Pulls that took up what the one before had left, and the bytes that they did not ask for again. */
  readonly resumed: number;
  readonly resumedBytes: number;
  readonly slowestAbortMs: number;
  /** What went wrong that must not. */
  readonly violations: readonly string[];
}

/**
 * Pulls a random model from a server that fails in ways that the seed decides, with aborts in between, then from the same server without
 * faults; after each pull the file under its final name must be absent or right, and each must take up what the one before left.
 */
export async function runFaults(seed: number, folder: string): Promise<FaultRun> {
  const random = randomFrom(seed);
  const bytes = randomModel(20_000 + random() * 400_000, random);
  const seen: Fault[] = [];
  const starts: number[] = [];
  const violations: string[] = [];
  let isHealthy = false;
  const nextFault = (request: IncomingMessage): Fault => {
    starts.push(rangeOf(request, bytes.length)?.start ?? 0);
    const fault = isHealthy ? "none" : faults[Math.floor(random() * faults.length)]!;
    seen.push(fault);
    return fault;
  };
  await using server = await serveHub({ "m-Q4_0.gguf": bytes }, nextFault, random);
  const storage = await diskStorage(join(folder, String(seed)));
  const name = "o--r--m-Q4_0.gguf";
  const final = join(storage.location, name);
  // By the hub's list, or by the URL alone, whose digest comes with the redirect.
  const source = random() < 0.5 ? "hf:o/r:Q4_0" : new URL("o/r/resolve/main/m-Q4_0.gguf", server.url);
  const isUrl = source instanceof URL;
  const stored = isUrl ? join(storage.location, `${server.url.host.replace(":", "_")}--o--r--resolve--main--m-Q4_0.gguf`) : final;
  const partialFile = `${stored}.partial`;
  const retries = Math.floor(random() * 2);
  // A healthy server may be slow on a busy machine.
  const optionsNow = (): PullOptions => ({ storage, endpoint: server.url, backoffMs: 1, stallMs: isHealthy ? 10_000 : 80, retries });
  let aborts = 0;
  let slowestAbortMs = 0;
  let pulls = 0;
  let resumed = 0;
  let resumedBytes = 0;
  let isDone = false;
  const check = (): void => {
    if (existsSync(stored) && !readFileSync(stored).equals(bytes)) violations.push(`corrupt after pull ${pulls}`);
  };
  const attempt = async (abortAfterMs: number | undefined): Promise<void> => {
    pulls++;
    const there = existsSync(partialFile) ? statSync(partialFile).size : 0;
    starts.length = 0;
    const controller = new AbortController();
    let abortedAt = 0;
    const timer =
      abortAfterMs === undefined
        ? undefined
        : setTimeout(() => {
            abortedAt = performance.now();
            controller.abort(new Error("aborted by the run"));
          }, abortAfterMs);
    try {
      await pull(source, { ...optionsNow(), signal: controller.signal });
      isDone = true;
    } catch (error) {
      if (abortedAt > 0) {
        aborts++;
        slowestAbortMs = Math.max(slowestAbortMs, performance.now() - abortedAt);
      } else if (!(error instanceof GgufError)) violations.push(`pull ${pulls}: ${String(error)}`);
    } finally {
      clearTimeout(timer);
    }
    if (starts.length > 0 && starts[0] !== there) violations.push(`pull ${pulls}: asked from ${starts[0]}, had ${there}`);
    if (there > 0 && starts[0] === there) {
      resumed++;
      resumedBytes += there;
    }
    check();
  };
  for (let i = 0; i < 6 && !isDone; i++) await attempt(random() < 0.4 ? random() * 30 : undefined);
  isHealthy = true;
  // The first may find wrong bytes of before, and throws them away.
  if (!isDone) await attempt(undefined);
  if (!isDone) await attempt(undefined);
  if (!isDone || !existsSync(stored)) violations.push("no file in the end");
  return { pulls, aborts, faults: seen, resumed, resumedBytes, slowestAbortMs, violations };
}
