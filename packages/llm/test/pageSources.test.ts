import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import type { ServedPage } from "@centella/test-devices";
import { describeInChromium, serveBundle } from "@centella/test-devices/browserTests";
import { afterAll, expect, test } from "vitest";
import { sendFile, serve, type TestServer } from "../../gguf/test/httpServer.ts";
import { tiny } from "./modelFiles.ts";

const bytes = new Uint8Array(readFileSync(tiny));
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** How a server answers pages of other origins. OPTIONS and HEAD are refused, as some hosts of files do. */
interface Access {
  readonly allow?: boolean;
  readonly expose?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of the file; those after the model are zeros. Default: the model's. */
  readonly size?: number;
}

/** Another origin with the tiny model at every path. */
function serveModel({ allow = true, expose = true, headers = {}, size = bytes.length }: Access = {}): Promise<TestServer> {
  return serve((request: IncomingMessage, response: ServerResponse) => {
    if (allow && request.method === "GET") response.setHeader("Access-Control-Allow-Origin", "*");
    if (expose) response.setHeader("Access-Control-Expose-Headers", "Content-Range, Content-Length, ETag");
    if (request.method === "OPTIONS") return void response.writeHead(405).end();
    if (request.method === "HEAD") return void response.writeHead(200, { "Content-Length": size }).end();
    const read = (start: number, end: number): Uint8Array => {
      const piece = new Uint8Array(end - start);
      piece.set(bytes.subarray(start, end));
      return piece;
    };
    return sendFile(request, response, { size, etag: '"v1"', headers, read });
  });
}

const requestsOf = ({ requests }: TestServer): readonly string[] =>
  requests.map(({ method, headers }) => `${method} ${headers.range ?? ""}`);

/** Result of loading in a page: the first ids of a text, or an error's message. */
interface Loaded {
  readonly ids?: readonly number[];
  readonly warnings?: readonly string[];
  readonly stages?: readonly string[];
  readonly error?: string;
  readonly code?: string;
}

/** Loads a model in the page and continues "Once upon a time". */
function load({ page }: ServedPage, source: string, options: object = {}, setUp = ""): Promise<Loaded> {
  return page.evaluate(`(async () => {
    ${setUp}
    const runtime = await createRuntime({ backends: [wasm({ threads: 1, sync: false })], policy: { force: "wasm" } });
    try {
      const stages = new Set();
      const options = { runtime, contextLength: 64, onProgress: (done, total, stage) => stages.add(stage), ...${JSON.stringify(options)} };
      const model = await loadModel(${JSON.stringify(source)}, options);
      const { ids } = await model.createSession().complete({ ids: [0, 2817, 632, 263, 534] }, { temperature: 0, maxTokens: 3 });
      return { ids, warnings: model.info.warnings, stages: [...stages] };
    } catch (error) {
      return { error: error.message, code: error.code };
    } finally {
      await runtime.dispose();
    }
  })()`);
}

describeInChromium("models from URLs in Chromium", async (browser) => {
  // One server for all pages, and another for those that are not isolated: bundling the packages takes seconds.
  const [isolated, other] = await Promise.all(
    [true, false].map((isIsolated) =>
      serveBundle({
        scripts: { main: pathOf("pages/loading.ts"), "app/engine": pathOf("workers/serving.ts") },
        files: { "/models/m.gguf": bytes },
        isIsolated,
      }),
    ),
  );
  afterAll(() => Promise.all([isolated, other].map((served) => served![Symbol.asyncDispose]())));
  /** A page with a storage and a cache of its own. */
  const open = async ({ isIsolated = true } = {}): Promise<ServedPage> => {
    const { url } = isIsolated ? isolated! : other!;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(url);
    return { page, url, [Symbol.asyncDispose]: () => context.close() };
  };
  const stored = (ids: Loaded["ids"], ...stages: string[]): Loaded => ({ ids: ids!, warnings: [], stages });

  test("are downloaded once by two tabs", async () => {
    await using server = await serveModel();
    await using served = await open();
    const second = await served.page.context().newPage();
    await second.goto(served.url);
    const url = new URL("m.gguf", server.url).href;
    const [one, other] = await Promise.all([served.page, second].map((page) => load({ ...served, page }, url)));
    expect(one!.ids).toHaveLength(3);
    expect(other!.ids).toEqual(one!.ids);
    expect(requestsOf(server).filter((request) => request === "GET bytes=0-")).toHaveLength(1);
  });

  test("are stored by the first load; later ones ask for one byte, and work offline", async () => {
    await using server = await serveModel();
    await using served = await open();
    const url = new URL("m.gguf", server.url).href;
    const persists = `navigator.storage.persist = async () => (globalThis.persists = (globalThis.persists ?? 0) + 1) > 0;`;
    const first = await load(served, url, {}, persists);
    expect(first).toEqual(stored(first.ids, "download", "load"));
    expect(first.ids).toHaveLength(3);
    expect(await served.page.evaluate("persists")).toBe(1);
    expect(requestsOf(server)).toEqual(["GET bytes=0-"]);
    expect(server.bytesSent()).toBeLessThan(bytes.length + 4_000);
    await served.page.reload();
    expect(await load(served, url)).toEqual(stored(first.ids, "load"));
    expect(requestsOf(server).slice(1)).toEqual(["GET bytes=0-0"]);
    await served.page.context().setOffline(true);
    expect(await load(served, url)).toEqual(stored(first.ids, "load"));
  });

  test("that are read by ranges are fetched once, and then come from the browser's cache", async () => {
    await using server = await serveModel({ headers: { "Cache-Control": "public, max-age=31536000, immutable" } });
    await using served = await open();
    const url = new URL("m.gguf", server.url).href;
    const failed: string[] = [];
    served.page.on("requestfailed", (request) => failed.push(request.url()));
    const sent: number[] = [];
    for (let i = 0; i < 3; i++) {
      const before = server.bytesSent();
      expect((await load(served, url, { cache: false })).ids).toHaveLength(3);
      sent.push(server.bytesSent() - before);
      await served.page.reload();
    }
    const gets = requestsOf(server);
    expect(gets.every((request) => /^GET bytes=\d+-\d+$/.test(request))).toBe(true);
    expect(sent[0]).toBeLessThan(bytes.length + 4_000);
    expect(sent.slice(1)).toEqual([0, 0]);
    expect(gets.length).toBeLessThanOrEqual(3);
    expect(failed).toEqual([]);
  });

  test.each([true, false])("that CORS refuses say so at once, in a page that is isolated: %s", async (isIsolated) => {
    await using server = await serveModel({ allow: false, expose: false });
    await using served = await open({ isIsolated });
    const { error } = await load(served, new URL("m.gguf", server.url).href);
    expect(error).toMatch(
      /^gguf: cannot read 'http:.*\/m\.gguf': its server does not let pages of http:\/\/127\.0\.0\.1:\d+ read it \(CORS\)/,
    );
    expect(error).toMatch(/must answer with the header 'Access-Control-Allow-Origin: http:\/\/127\.0\.0\.1:\d+' \(or \*\)$/);
    // The request, one without the need of permission, and a second try.
    expect(server.requests).toHaveLength(3);
  });

  test("whose server is down are network errors", async () => {
    const server = await serveModel();
    await server[Symbol.asyncDispose]();
    await using served = await open({ isIsolated: false });
    // The pauses between attempts are the network's matter, not this test's.
    const hurry = `const wait = setTimeout; globalThis.setTimeout = (step, ms) => wait(step, Math.min(ms, 1));
      globalThis.fetch = ((fetch) => (url, { signal, ...init }) => fetch(url, init))(fetch);`;
    const { error } = await load(served, server.url.href, {}, hurry);
    expect(error).toMatch(/^gguf: cannot read '.*': Failed to fetch \(5 attempts\); check the network, then try again$/);
  });

  test("whose server hides Content-Range are stored anyway; reading by ranges names the missing header", async () => {
    await using server = await serveModel({ expose: false });
    await using served = await open();
    const url = new URL("m.gguf", server.url).href;
    expect((await load(served, url, { cache: false })).error).toMatch(
      /hides it from this page \(CORS\); the server must answer with the header 'Access-Control-Expose-Headers: Content-Range, Content-Length, ETag'$/,
    );
    expect((await load(served, url)).ids).toHaveLength(3);
  });

  test("are relative to the page", async () => {
    await using served = await open();
    expect((await load(served, "/models/m.gguf")).ids).toHaveLength(3);
    expect((await load(served, "ftp://example.com/m.gguf")).code).toBe("range");
  });

  test.each([
    ["is missing", "navigator.storage.getDirectory = undefined;", /expected a browser with an origin private file system/],
    [
      "is refused",
      `navigator.storage.getDirectory = async () => { throw new DOMException("private", "SecurityError"); };`,
      /SecurityError/,
    ],
    ["cannot be written", "delete FileSystemFileHandle.prototype.createWritable;", /one without createWritable\(\)/],
  ])("are read by ranges, with a warning, where the storage %s", async (_, setUp, reason) => {
    await using server = await serveModel();
    await using served = await open();
    const { ids, warnings } = await load(served, new URL("m.gguf", server.url).href, {}, setUp);
    expect(ids).toHaveLength(3);
    expect(warnings).toEqual([expect.stringMatching(/^the model is read from its server and not stored: /)]);
    expect(warnings![0]).toMatch(reason);
  });

  test("that do not fit into the browser's quota are an error with numbers, before anything is downloaded", async () => {
    const size = 1_000_000_000;
    await using server = await serveModel({ size });
    await using served = await open();
    const full = "navigator.storage.estimate = async () => ({ quota: 1_000_000, usage: 500_000 });";
    const { error, code } = await load(served, new URL("m.gguf", server.url).href, {}, full);
    expect(code).toBe("quota");
    expect(error).toMatch(new RegExp(`expected ${size} free bytes in opfs:centella-models, got 500000; .* \\(cache: false\\)$`));
    // What had come before the request was given up.
    expect(server.bytesSent()).toBeLessThan(size / 10);
  });

  test("are stored by a worker too, for which relative URLs are those of the page", async () => {
    await using server = await serveModel();
    await using served = await open();
    const inWorker = (source: string): Promise<{ readonly name: string; readonly warnings: readonly string[] }> =>
      served.page.evaluate(`(async () => {
        const worker = new Worker("/app/engine.js", { type: "module" });
        const model = await loadInWorker(${JSON.stringify(source)}, { worker, contextLength: 64 });
        await model.dispose();
        worker.terminate();
        return { name: model.info.name, warnings: model.info.warnings };
      })()`);
    const expected = { name: "Fable Tiny 2M", warnings: [] };
    const url = new URL("m.gguf", server.url).href;
    expect(await inWorker(url)).toEqual(expected);
    expect(requestsOf(server)).toEqual(["GET bytes=0-"]);
    expect(await inWorker(url)).toEqual(expected);
    // What the worker has stored is there for the page.
    expect((await load(served, url)).stages).toEqual(["load"]);
    expect(requestsOf(server).slice(1)).toEqual(["GET bytes=0-0", "GET bytes=0-0"]);
    expect(await inWorker("models/m.gguf")).toEqual(expected);
  });
});
