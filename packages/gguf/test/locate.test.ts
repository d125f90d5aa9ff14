import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { diskStorage, type ModelStorage, pull, readGguf } from "../src/index.ts";
import { randomFrom, randomModel, serveHub } from "./faultyHub.ts";
import { rangeOf, sendFile, serve, type TestServer } from "./httpServer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-locate-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());
let folders = 0;
let cacheFolder: string;
beforeEach(() => {
  cacheFolder = join(folder, String(folders++));
  vi.stubEnv("XDG_CACHE_HOME", cacheFolder);
});
const models = (): string => join(cacheFolder, "centella/models");
const bytes = randomModel(300_000, randomFrom(1));

async function data(source: string | URL, options: Parameters<typeof readGguf>[1] = {}): Promise<readonly [Uint8Array, readonly string[]]> {
  await using file = await readGguf(source, options);
  return [await file.readTensor("t"), file.warnings];
}

const expected = await (async () => {
  const file = await readGguf(bytes);
  return file.readTensor("t");
})();

describe("hf: references", () => {
  const files = { "m-Q4_0.gguf": bytes };

  test("are downloaded into the storage of pull, with progress, and work offline afterwards", async () => {
    const hub = await serveHub(files, () => "none");
    vi.stubEnv("HF_ENDPOINT", hub.url.href);
    const progress: (readonly [number, number | undefined])[] = [];
    const onDownload = (done: number, total: number | undefined): void => void progress.push([done, total]);
    expect(await data("hf:o/r:Q4_0", { onDownload })).toEqual([expected, []]);
    expect(progress.at(-1)).toEqual([bytes.length, bytes.length]);
    expect((await pull("hf:o/r:Q4_0")).wasStored).toBe(true);
    const { length } = hub.requests;
    expect(await data("hf:o/r:Q4_0", { onDownload: () => expect.fail("a download") })).toEqual([expected, []]);
    expect(hub.requests).toHaveLength(length);
    await hub[Symbol.asyncDispose]();
    expect(await data(new URL("hf:o/r:Q4_0"))).toEqual([expected, []]);
  });

  test("are read by ranges where nothing is to be stored, with the token for the hub alone", async () => {
    await using hub = await serveHub(files, () => "none");
    vi.stubEnv("HF_ENDPOINT", hub.url.href);
    vi.stubEnv("HF_TOKEN", "secret");
    expect(await data("hf:o/r:Q4_0", { cache: false })).toEqual([expected, []]);
    expect(() => readdirSync(models())).toThrow("ENOENT");
    expect(hub.requests[0]!.headers.authorization).toBe("Bearer secret");
  });

  test("that are malformed are typed errors", async () => {
    await expect(readGguf("hf:owner")).rejects.toMatchObject({ code: "range", expected: expect.stringContaining("hf:owner/repo:QUANT") });
  });
});

describe("URLs that are kept", () => {
  let etag: string;
  let served: Uint8Array;
  const start = (): Promise<TestServer> => {
    etag = '"a"';
    served = bytes;
    return serve((request, response) =>
      sendFile(request, response, { size: served.length, etag, read: (from, to) => served.subarray(from, to) }),
    );
  };
  const ranges = ({ requests }: TestServer): readonly (string | undefined)[] => requests.map(({ headers }) => headers.range);

  test("are downloaded once; later one byte says whether they are current", async () => {
    const server = await start();
    const url = new URL("m.gguf", server.url);
    expect(await data(url.href, { cache: true })).toEqual([expected, []]);
    expect(readdirSync(models()).filter((name) => name.endsWith(".gguf"))).toHaveLength(1);
    const before = server.requests.length;
    expect(await data(url, { cache: true })).toEqual([expected, []]);
    expect(ranges(server).slice(before)).toEqual(["bytes=0-0"]);
    await server[Symbol.asyncDispose]();
    expect(await data(url, { cache: true })).toEqual([expected, []]);
  });

  test("are downloaded again when the server's file has changed, in its ETag or in its length", async () => {
    await using server = await start();
    const url = new URL("m.gguf", server.url);
    await data(url, { cache: true });
    for (const [seed, size, tag] of [
      [2, 300_000, '"b"'],
      [3, 400_000, '"b"'],
    ] as const) {
      served = randomModel(size, randomFrom(seed));
      etag = tag;
      const want = await (await readGguf(served)).readTensor("t");
      expect(await data(url, { cache: true })).toEqual([want, []]);
      const before = server.requests.length;
      expect(await data(url, { cache: true })).toEqual([want, []]);
      expect(ranges(server).slice(before)).toEqual(["bytes=0-0"]);
    }
  });

  test("are not kept in Node unless that is asked for", async () => {
    await using server = await start();
    expect(await data(new URL("m.gguf", server.url))).toEqual([expected, []]);
    expect(() => readdirSync(models())).toThrow("ENOENT");
  });

  test("come from a storage of the caller's own", async () => {
    await using server = await start();
    const storage = await diskStorage(join(cacheFolder, "mine"));
    await data(new URL("m.gguf", server.url), { cache: storage });
    expect((await storage.names()).some((name) => name.endsWith("m.gguf"))).toBe(true);
    expect(() => readdirSync(models())).toThrow("ENOENT");
  });

  test.each([
    ["cannot be written", { write: () => Promise.reject(new DOMException("no", "UnknownError")) }, /: UnknownError: no$/],
    ["has no names", { names: () => Promise.reject(new TypeError("no folder")) }, /: TypeError: no folder$/],
  ] as const)("are read by ranges, with a warning, where the storage %s", async (_, broken, reason) => {
    await using server = await start();
    const storage: ModelStorage = { ...(await diskStorage(join(cacheFolder, "mine"))), ...broken };
    const [got, warnings] = await data(new URL("m.gguf", server.url), { cache: storage });
    expect(got).toEqual(expected);
    expect(warnings).toEqual([expect.stringMatching(/^the model is read from its server and not stored: /)]);
    expect(warnings[0]).toMatch(reason);
  });

  test("that do not fit are an error with numbers, which says how to read them all the same", async () => {
    await using server = await start();
    const storage: ModelStorage = { ...(await diskStorage(join(cacheFolder, "mine"))), freeBytes: async () => 1000 };
    await expect(data(new URL("m.gguf", server.url), { cache: storage })).rejects.toMatchObject({
      name: "GgufError",
      code: "quota",
      message: expect.stringMatching(/expected \d{6} free bytes in .*mine, got 1000; remove stored models .*cache: false/),
    });
  });

  test("that are no models are errors, not warnings, and end with their first bytes", async () => {
    await using server = await start();
    const size = 1_000_000_000;
    served = { length: size, subarray: (from: number, to: number) => new Uint8Array(to - from).fill(60) } as Uint8Array;
    const storage = await diskStorage(join(cacheFolder, "mine"));
    await expect(data(new URL("m.gguf", server.url), { cache: storage })).rejects.toMatchObject({ code: "not-gguf", offset: 0 });
    expect(server.bytesSent()).toBeLessThan(size / 10);
    expect(await storage.names()).toEqual([]);
  });

  test("are stored with all parts of a split file", async () => {
    const fixtures = join(import.meta.dirname, "fixtures");
    const server = await serve((request, response) => {
      const part = readFileSync(join(fixtures, request.url!.slice(1)));
      return sendFile(request, response, { size: part.length, etag: '"a"', read: (from, to) => part.subarray(from, to) });
    });
    const url = new URL("split-00001-of-00003.gguf", server.url);
    for (const isOnline of [true, false]) {
      await using file = await readGguf(url, { cache: true });
      expect(file.parts).toBe(3);
      expect(await file.readTensorF32("t.f16")).toHaveLength(24);
      if (isOnline) await server[Symbol.asyncDispose]();
    }
  });

  test("may be aborted, which ends the download with its reason", async () => {
    await using server = await start();
    const controller = new AbortController();
    const reason = new Error("enough");
    const onDownload = (): void => controller.abort(reason);
    await expect(data(new URL("m.gguf", server.url), { cache: true, signal: controller.signal, onDownload })).rejects.toBe(reason);
  });
});

/** A promise that its owner resolves. */
class Gate {
  open: () => void = () => undefined;
  readonly promise: Promise<void> = new Promise((resolve) => {
    this.open = resolve;
  });
}

describe("URLs that two callers load at once", () => {
  const half = bytes.length >> 1;

  /** A server that sends half of the file, and the rest after `proceed`. */
  async function startHalf(): Promise<TestServer & { proceed(): void; readonly starts: readonly number[] }> {
    const rest = new Gate();
    const starts: number[] = [];
    const server = await serve(async (request, response) => {
      const { start, end } = rangeOf(request, bytes.length) ?? { start: 0, end: bytes.length };
      const range = { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}` };
      response.writeHead(request.headers.range === undefined ? 200 : 206, { ETag: '"a"', "Content-Length": end - start, ...range });
      if (request.method === "HEAD") return void response.end();
      starts.push(start);
      response.write(bytes.subarray(start, Math.max(start, half)));
      await rest.promise;
      response.end(bytes.subarray(Math.max(start, half), end));
    });
    return Object.assign(server, { starts, proceed: rest.open });
  }

  /** Begins to load. `half` resolves when half of the file is there, also for a caller that waits. */
  function begin(server: TestServer, signal?: AbortSignal) {
    const atHalf = new Gate();
    const onDownload = (done: number, total: number | undefined): void => {
      if (done >= half && total === bytes.length) atHalf.open();
    };
    return { loaded: data(new URL("m.gguf", server.url), { cache: true, onDownload, ...(signal && { signal }) }), half: atHalf.promise };
  }

  test("are downloaded once: the second caller waits, and reports the bytes of the first", async () => {
    await using server = await startHalf();
    const first = begin(server);
    await first.half;
    const second = begin(server);
    await second.half;
    server.proceed();
    expect(await Promise.all([first.loaded, second.loaded])).toEqual([
      [expected, []],
      [expected, []],
    ]);
    expect(server.starts).toEqual([0]);
  });

  test("are downloaded on by the second caller if the first gives up", async () => {
    await using server = await startHalf();
    const stop = new AbortController();
    const first = begin(server, stop.signal);
    await first.half;
    const second = begin(server);
    await second.half;
    stop.abort(new Error("enough"));
    await expect(first.loaded).rejects.toThrow("enough");
    server.proceed();
    expect(await second.loaded).toEqual([expected, []]);
    expect(server.starts).toEqual([0, half]);
  });

  test("are not waited for after an abort", async () => {
    await using server = await startHalf();
    const stop = new AbortController();
    const first = begin(server);
    await first.half;
    const second = begin(server, stop.signal);
    await second.half;
    stop.abort(new Error("enough"));
    await expect(second.loaded).rejects.toThrow("enough");
    server.proceed();
    expect(await first.loaded).toEqual([expected, []]);
    expect(server.starts).toEqual([0]);
  });

  test("are downloaded again by the second caller if the first did not renew a file that has changed", async () => {
    await using server = await startHalf();
    server.proceed();
    const storage = await diskStorage(models());
    const { name } = await pull(new URL("m.gguf", server.url), { storage });
    const lock = await storage.lock(name);
    const waiting = new Gate();
    const renewed = pull(new URL("m.gguf", server.url), { storage, refresh: true, wait: true, onProgress: () => waiting.open() });
    await waiting.promise;
    await lock.release();
    expect((await renewed).wasStored).toBe(false);
    expect(server.starts).toEqual([0, 0]);
  });
});
