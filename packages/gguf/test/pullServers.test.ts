import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { Attempts, checkStatus } from "../src/http/http.ts";
import { TransientError } from "../src/http/request.ts";
import { diskStorage, findStored, listModels, type ModelStorage, type PullOptions, pull, removeModel } from "../src/index.ts";
import { limits } from "../src/limits.ts";
import { randomFrom, randomModel, sha256 } from "./faultyHub.ts";
import { rangeOf, sendFile, serve, type TestServer } from "./httpServer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-servers-"));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;
const newStorage = (): Promise<ModelStorage> => diskStorage(join(folder, `storage-${folders++}`));
const model = (seed: number, bytes = 50_000): Uint8Array<ArrayBuffer> => randomModel(bytes, randomFrom(seed));
const quick = { backoffMs: 1, stallMs: 60_000 };

function send(request: IncomingMessage, response: ServerResponse, bytes: Uint8Array, etag?: string): Promise<void> {
  const file = { size: bytes.length, read: (start: number, end: number) => bytes.subarray(start, end) };
  return sendFile(request, response, etag === undefined ? file : { ...file, etag });
}

describe("URLs that differ in their query alone", () => {
  test("are two files", async () => {
    const files = { a: model(1), b: model(2) };
    await using server = await serve((request, response) => {
      const which = new URL(request.url!, "http://server").searchParams.get("file") as "a" | "b";
      return send(request, response, files[which], `"${which}"`);
    });
    const storage = await newStorage();
    const url = (file: string): string => new URL(`download?file=${file}`, server.url).href;
    for (const file of ["a", "b"] as const) {
      const pulled = await pull(url(file), { storage });
      expect(pulled.wasStored).toBe(false);
      expect(readFileSync(String(pulled.input[0])).equals(files[file])).toBe(true);
    }
    expect((await pull(url("a"), { storage })).wasStored).toBe(true);
    const sources = (await listModels(storage)).map(({ source }) => source);
    expect(new Set(sources).size).toBe(2);
    expect(sources.join()).not.toMatch(/file=/);
    // A stored model is found by the URL, and by what is listed of it.
    for (const source of [url("a"), sources[0]!]) expect(await findStored(storage, source)).toBeDefined();
    await removeModel(storage, url("b"));
    expect(await listModels(storage)).toHaveLength(1);
  });

  test("a URL without one keeps its name and its key", async () => {
    const bytes = model(3);
    await using server = await serve((request, response) => send(request, response, bytes));
    const storage = await newStorage();
    const { name, source } = await pull(new URL("a/m.gguf", server.url), { storage });
    expect([name, source]).toEqual([`127.0.0.1_${server.url.port}--a--m.gguf`, new URL("a/m.gguf", server.url).href]);
  });
});

describe("a hub's list", () => {
  const entry = (path: string, more: object = {}): object => ({ type: "file", path, size: model(1).length, ...more });
  /** A hub whose list is the answer of `list`. */
  const hub = (list: (request: IncomingMessage, response: ServerResponse) => void): Promise<TestServer> =>
    serve((request, response) => (request.url!.startsWith("/api/") ? list(request, response) : send(request, response, model(1))));
  async function expectError(server: TestServer, message: RegExp, options: PullOptions = {}): Promise<void> {
    const pulled = pull("hf:o/r:Q4_0", { storage: await newStorage(), endpoint: server.url, ...quick, ...options });
    await expect(pulled).rejects.toMatchObject({ name: "GgufError", message: expect.stringMatching(message) });
  }

  test("that stalls in its body ends after stallMs", async () => {
    await using server = await hub((_, response) => void response.write("["));
    await expectError(server, /no bytes for 5000 ms \(1 attempts\); check the network/, { stallMs: 5000, retries: 0 });
  });

  test("whose next page is one that was there before is refused", async () => {
    await using server = await hub((request, response) => {
      const next = request.url!.includes("cursor=2") ? "1" : "2";
      response.setHeader("Link", `<?recursive=true&cursor=${next}>; rel="next"`);
      response.end("[]");
    });
    await expectError(server, /list of files from .*\/api\/models\/o\/r\/tree\/main that ends, got the same page twice/);
    expect(server.requests).toHaveLength(3);
  });

  test("may go on at another origin, which does not get the token", async () => {
    await using other = await serve((_, response) => void response.end(JSON.stringify([entry("m-Q4_0.gguf")])));
    await using server = await hub((_, response) => {
      response.setHeader("Link", `<${new URL("api/models/o/r/tree/main?cursor=1", other.url).href}>; rel="next"`);
      response.end(JSON.stringify([entry("m-Q8_0.gguf")]));
    });
    const options = { endpoint: server.url, token: "secret", storage: await newStorage() };
    expect((await pull("hf:o/r:Q4_0", options)).files[0]!.url).toBe(new URL("o/r/resolve/main/m-Q4_0.gguf", server.url).href);
    expect(server.requests[0]!.headers.authorization).toBe("Bearer secret");
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test("whose next page is no URL of HTTP is refused", async () => {
    await using server = await hub((_, response) => {
      response.setHeader("Link", '<file:///etc/passwd>; rel="next"');
      response.end("[]");
    });
    await expectError(server, /expected a list of files from .*, got another answer/);
  });

  test("that a busy hub does not give is asked for again, and the error says who is busy", async () => {
    await using server = await hub((_, response) => void response.writeHead(429).end());
    await expectError(server, /HTTP status 429 \(2 attempts\); the server limits requests: try again later$/, { retries: 1 });
  });

  test("without an end is refused: bytes, entries, pages", async () => {
    await using bytes = await hub((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(" ".repeat(2 ** 20)));
      };
      response.on("drain", more);
      more();
    });
    await expectError(bytes, /got a page of more than 16777216 bytes/);
    await using entries = await hub((request, response) => {
      const page = Number(new URL(request.url!, "http://hub").searchParams.get("page"));
      response.setHeader("Link", `<?page=${page + 1}>; rel="next"`);
      response.end(JSON.stringify(new Array(limits.hubEntries / 2).fill(0)));
    });
    await expectError(entries, /got more than 100000 entries/);
    await using pages = await hub((request, response) => {
      const page = Number(new URL(request.url!, "http://hub").searchParams.get("page"));
      response.setHeader("Link", `<?page=${page + 1}>; rel="next"`);
      response.end("[]");
    });
    await expectError(pages, /got more than 1000 pages/);
  });

  test.each([-5, 0, 1.5, 1e300, "abc", null])("a size of %j is no size", async (size) => {
    const bytes = model(1);
    await using server = await hub((_, response) => void response.end(JSON.stringify([entry("m-Q4_0.gguf", { size })])));
    const { files } = await pull("hf:o/r:Q4_0", { storage: await newStorage(), endpoint: server.url });
    expect(files[0]!.bytes).toBe(bytes.length);
  });

  test.each([
    ["a NUL", "a\0b-Q4_0.gguf", /without control characters and lone surrogates, got 'o--r--a\\u0000b-Q4_0\.gguf'/],
    ["a lone surrogate", "a\ud800-Q4_0.gguf", /without control characters and lone surrogates/],
    ["300 characters", `${"a".repeat(300)}-Q4_0.gguf`, /a file name of at most 223 bytes, got 316/],
  ])("a name with %s is refused", async (_, path, message) => {
    await using server = await hub((_, response) => void response.end(JSON.stringify([entry(path)])));
    await expectError(server, message);
  });

  test("a name is flat on Windows too", async () => {
    await using server = await hub((_, response) => void response.end(JSON.stringify([entry("..\\..\\m:a-Q4_0.gguf")])));
    const storage = await newStorage();
    expect((await pull("hf:o/r:Q4_0", { storage, endpoint: server.url })).name).toBe("o--r--..--..--m--a-Q4_0.gguf");
  });
});

test.each([
  "hf:a/..:Q4_0",
  "hf:../..:Q4_0",
  "hf:../a",
  "hf:./a",
  "hf:a/.b",
  "hf:a/b-",
  "hf:a/b..c",
  // A folder name has `--` between owner and repository.
  "hf:a--b/c",
  "hf:a/b@..",
  "hf:a/b@../../c:Q4_0",
  "hf:a/b@x//y",
  "hf:a/b/../c.gguf",
])("%s names no repository", async (source) => {
  await expect(pull(source, { storage: await newStorage() })).rejects.toMatchObject({ code: "range" });
});

test.each([
  ["/%E0%A4%A.gguf", /percent signs each begin the encoding of a UTF-8 byte, got the path '\/%E0%A4%A\.gguf'; write .* %25/],
  [`/${"a".repeat(400)}.gguf`, /a file name of at most 223 bytes, got 4\d\d for/],
])("a URL's path %s is refused", async (path, message) => {
  await using server = await serve((_, response) => void response.end());
  await expect(pull(new URL(path, server.url), { storage: await newStorage() })).rejects.toMatchObject({
    code: "range",
    message: expect.stringMatching(message),
  });
});

test.each(["abc", "-1", "1.5", "99999999999999999999", "", "Infinity", "0"])("X-Linked-Size '%s' is no size", async (size) => {
  const bytes = model(4);
  await using server = await serve((request, response) => {
    if (request.method !== "HEAD") return send(request, response, bytes);
    return void response.writeHead(200, { "X-Linked-Size": size }).end();
  });
  const { files } = await pull(new URL("m.gguf", server.url), { storage: await newStorage() });
  expect(files[0]).toMatchObject({ bytes: bytes.length, sha256: sha256(bytes) });
});

describe("Retry-After", () => {
  afterEach(() => void vi.useRealTimers());

  test.each([
    ["seconds", { "Retry-After": "7" }, 7_000],
    ["a date by the server's clock", { "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", Date: "Sun, 06 Nov 1994 08:49:28 GMT" }, 9_000],
    ["for ever", { "Retry-After": "9999999999" }, 60_000],
    ["nonsense", { "Retry-After": "soon" }, 500],
    ["the past", { "Retry-After": "Sun, 06 Nov 1994 08:49:28 GMT" }, 500],
  ])("%s is the pause before the next attempt", async (_, headers, pauseMs) => {
    vi.useFakeTimers();
    let isOver = false;
    const attempts = new Attempts(new URL("http://server/"), {});
    const refused = (): void => checkStatus(new URL("http://server/"), new Response(null, { status: 429, headers }));
    expect(refused).toThrow(TransientError);
    const pause = Promise.resolve()
      .then(refused)
      .catch((error: unknown) => attempts.failed(error, undefined))
      .then(() => {
        isOver = true;
      });
    await vi.advanceTimersByTimeAsync(pauseMs - 1);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await pause;
  });
});

describe("a file that changes at the same length between two parts", () => {
  test.each([
    ["no ETag", undefined],
    ["a weak ETag", 'W/"a"'],
  ])("is begun again with %s", async (_, etag) => {
    const [before, after] = [model(6, 400_000), model(7, 400_000)];
    const starts: number[] = [];
    await using server = await serve(async (request, response) => {
      if (request.method === "HEAD") return void response.end();
      starts.push(rangeOf(request, before.length)!.start);
      const bytes = starts.length < 3 ? before : after;
      if (starts.length >= 3) return send(request, response, bytes, etag);
      response.writeHead(206, {
        "Content-Range": `bytes ${starts.at(-1)}-${bytes.length - 1}/${bytes.length}`,
        ...(etag && { ETag: etag }),
      });
      response.write(bytes.subarray(0, 200_000 * starts.length), () => setTimeout(() => response.destroy(), 20));
    });
    const { files } = await pull(new URL("m.gguf", server.url), { storage: await newStorage(), ...quick });
    expect(starts).toEqual([0, 0, 0]);
    expect(files[0]).toMatchObject({ sha256: sha256(after), isVerified: false });
  });

  test("is not joined to what an earlier pull left with a weak ETag", async () => {
    const bytes = model(8);
    await using server = await serve((request, response) => send(request, response, bytes, 'W/"a"'));
    const storage = await newStorage();
    const url = new URL("m.gguf", server.url);
    const partial = join(storage.location, `127.0.0.1_${url.port}--m.gguf.partial`);
    mkdirSync(storage.location, { recursive: true });
    writeFileSync(partial, model(9).subarray(0, 1_000));
    writeFileSync(`${partial}.json`, JSON.stringify({ url: url.href, etag: 'W/"a"' }));
    expect((await pull(url, { storage })).files[0]!.sha256).toBe(sha256(bytes));
  });

  test("that is cut at the same place each time ends after the last attempt", async () => {
    const bytes = model(10, 400_000);
    await using server = await serve((request, response) => {
      if (request.method === "HEAD") return void response.end();
      response.writeHead(200, { "Content-Length": bytes.length });
      response.write(bytes.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 20));
    });
    await expect(pull(new URL("m.gguf", server.url), { storage: await newStorage(), ...quick, retries: 2 })).rejects.toMatchObject({
      code: "io",
    });
  });
});
