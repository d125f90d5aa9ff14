import { describe, expect, test } from "vitest";
import { estimateMemory, httpSource, openSource, readGguf, type WritableEntry } from "../src/index.ts";
import { encodeHeader } from "../src/write/encode.ts";
import { sendFile, serve } from "./httpServer.ts";
import { everything, writeGguf } from "./writer.ts";

const bytes = writeGguf({ ...everything, tensors: [...everything.tensors!, { name: "large", type: "f32", shape: [100_000] }] });
const quick = { backoffMs: 1, stallMs: 60_000 };
const read = (start: number, end: number): Uint8Array => bytes.subarray(start, end);

/** A header with a vocabulary of 256 Ki tokens in front of 5 GB of zeros. */
function hugeFile(): { readonly size: number; readonly headerBytes: number; read(start: number, end: number): Uint8Array } {
  const tokens = Array.from({ length: 262_144 }, (_, i) => `token ${i}`);
  const metadata: WritableEntry[] = [
    { key: "general.architecture", type: "string", value: "llama" },
    { key: "tokenizer.ggml.tokens", type: "array", elementType: "string", value: tokens },
    { key: "tokenizer.ggml.scores", type: "array", elementType: "f32", value: new Float32Array(tokens.length) },
  ];
  const tensors = [{ name: "t", type: "f32", shape: [1_250_000_000], offset: 0 }] as const;
  const header = encodeHeader({ version: 3, byteOrder: "little", metadata, tensors });
  return {
    size: Math.ceil(header.length / 32) * 32 + 5_000_000_000,
    headerBytes: header.length,
    read(start, end) {
      const piece = new Uint8Array(end - start);
      if (start < header.length) piece.set(header.subarray(start, Math.min(end, header.length)));
      return piece;
    },
  };
}

describe("httpSource", () => {
  test("reads what the file holds, by ranges", async () => {
    await using server = await serve((request, response) => sendFile(request, response, { size: bytes.length, etag: '"a"', read }));
    await using file = await readGguf(new URL("model.gguf", server.url));
    const want = await readGguf(bytes);
    expect([...file.metadata]).toEqual([...want.metadata]);
    for (const { name } of want.tensors) expect(await file.readTensor(name)).toEqual(await want.readTensor(name));
    expect(server.requests.every(({ headers }) => headers.range !== undefined)).toBe(true);
  });

  test("a string is a URL, and a header and the tensors after it come once, by few requests", async () => {
    const tokens = Array.from({ length: 40_000 }, (_, i) => `token ${i}`);
    const vocabulary = ["vocabulary", "array", { of: "string", values: tokens }] as const;
    const names = ["a", "b", "c"];
    const model = writeGguf({ metadata: [vocabulary], tensors: names.map((name) => ({ name, type: "f32", shape: [100_000] })) });
    await using server = await serve((request, response) =>
      sendFile(request, response, { size: model.length, etag: '"a"', read: (start, end) => model.subarray(start, end) }),
    );
    await using file = await readGguf(new URL("model.gguf", server.url).href);
    for (const { name } of file.tensors) await file.readTensor(name);
    expect(file.dataOffset).toBeGreaterThan(300_000);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual(["bytes=0-131071", `bytes=131072-${model.length - 1}`]);
    expect(server.bytesSent()).toBeLessThan(model.length + 2_000);
  });

  test("a header of a 5 GB file takes two requests and little more than its bytes", async () => {
    const huge = hugeFile();
    await using server = await serve((request, response) => sendFile(request, response, { size: huge.size, etag: '"a"', read: huge.read }));
    let received = 0;
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const counter = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          received += chunk.length;
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body!.pipeThrough(counter), response);
    };
    const source = await httpSource(server.url, { fetch: counting });
    const file = await readGguf(source);
    expect(file.metadata.strings("tokenizer.ggml.tokens").at(262_143)).toBe("token 262143");
    expect(file.tensor("t").bytes).toBe(5_000_000_000);
    expect(server.requests.length).toBeLessThanOrEqual(3);
    expect(huge.headerBytes).toBeGreaterThan(5_000_000);
    expect(received).toBeLessThanOrEqual(huge.headerBytes + 2 ** 18);
  });

  describe("reads that follow one another", () => {
    const size = 50_000_000;
    const huge = { size, etag: '"a"', read: (start: number, end: number) => Uint8Array.from({ length: end - start }, (_, i) => start + i) };
    const expectBytes = (got: Uint8Array, offset: number): void =>
      expect(Buffer.compare(got, huge.read(offset, offset + got.length))).toBe(0);

    test("share one request, over paddings too", async () => {
      await using server = await serve((request, response) => sendFile(request, response, huge));
      const source = await httpSource(server.url, quick);
      for (let at = 150_000; at < size; at += 4_000_032) expectBytes(await source.read(at, Math.min(4_000_000, size - at)), at);
      expect(server.requests.map(({ headers }) => headers.range)).toEqual([
        "bytes=0-131071",
        "bytes=150000-4149999",
        "bytes=4150032-49999999",
      ]);
      expect(server.bytesSent()).toBeLessThan(size + 10_000);
    });

    test("may go to given memory", async () => {
      await using server = await serve((request, response) => sendFile(request, response, huge));
      const source = await httpSource(server.url, quick);
      const target = new Uint8Array(new SharedArrayBuffer(500_000));
      for (const at of [10, 100_000, 600_000, 1_100_032]) {
        await source.readInto!(target, at);
        expectBytes(target, at);
      }
      await source.close?.();
    });

    test("reads in another order get the bytes that they ask for", async () => {
      await using server = await serve((request, response) => sendFile(request, response, huge));
      const signals: AbortSignal[] = [];
      const watched: typeof fetch = (input, init) => {
        signals.push(init!.signal!);
        return fetch(input, init);
      };
      const source = await httpSource(server.url, { ...quick, fetch: watched });
      for (const at of [30_000_000, 20_000_000, 40_000_000, 20_000_000]) expectBytes(await source.read(at, 1000), at);
      // A browser tells its user of aborted requests.
      expect(signals.map(({ aborted }) => aborted)).toEqual(signals.map(() => false));
      // A connection takes more than is read: not much of a response to the end of the file.
      const [one, two, elsewhere] = await Promise.all([10_000_000, 10_001_000, 45_000_000].map((at) => source.read(at, 1000)));
      expectBytes(one!, 10_000_000);
      expectBytes(two!, 10_001_000);
      expectBytes(elsewhere!, 45_000_000);
      await source.close!();
      expect(server.bytesSent()).toBeLessThan(size / 2);
    });

    test("can be aborted without affecting later requests", async () => {
      await using server = await serve((request, response) => sendFile(request, response, huge));
      const source = await httpSource(server.url, quick);
      await source.read(1_000_000, 1000);
      await source.read(1_001_000, 1000);
      const reason = new Error("enough");
      await expect(source.read(1_002_000, 1000, AbortSignal.abort(reason))).rejects.toBe(reason);
      const controller = new AbortController();
      const reading = source.read(1_002_000, 40_000_000, controller.signal);
      controller.abort(reason);
      await expect(reading).rejects.toBe(reason);
      expectBytes(await source.read(1_003_000, 1000), 1_003_000);
      await source.close!();
    });

    test("a response that is not read is cancelled, so that a process can end", async () => {
      const closed: Promise<unknown>[] = [];
      await using server = await serve((request, response) => {
        closed.push(new Promise((resolve) => response.on("close", resolve)));
        return sendFile(request, response, huge);
      });
      const source = await httpSource(server.url, quick);
      await source.read(1_000_000, 1000);
      await source.read(1_001_000, 1000);
      await closed.at(-1);
      expect(closed).toHaveLength(3);
      expect(server.bytesSent()).toBeLessThan(size / 2);
      expectBytes(await source.read(1_002_000, 1000), 1_002_000);
      await source.close!();
      await closed.at(-1);
    });
  });

  test("cut connections and responses 5xx are resumed where they broke", async () => {
    let count = 0;
    await using server = await serve((request, response) => {
      count++;
      if (count % 3 === 1) {
        response.writeHead(503).end();
        return;
      }
      const cut = count % 3 === 2 ? 60_000 : Number.POSITIVE_INFINITY;
      let sent = 0;
      return sendFile(request, response, {
        size: bytes.length,
        etag: '"a"',
        read(start, end) {
          sent += end - start;
          if (sent > cut) response.destroy();
          return read(start, end);
        },
      });
    });
    const file = await readGguf(await httpSource(server.url, quick));
    expect(await file.readTensor("large")).toEqual(await (await readGguf(bytes)).readTensor("large"));
  });

  test("gives up in the end, and says so without the URL's query", async () => {
    await using server = await serve((_, response) => void response.writeHead(502).end());
    const url = new URL("m.gguf?signature=secret", server.url);
    const error = await httpSource(url, { ...quick, retries: 2 }).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(
      /cannot read 'http:\/\/127\.0\.0\.1:\d+\/m\.gguf': HTTP status 502 \(3 attempts\); the server has a problem: try again later$/,
    );
    expect(String(error)).not.toContain("secret");
  });

  test("what fetch refuses is not tried again", async () => {
    // Port 1 is blocked by the Fetch standard.
    const blocked = httpSource("http://127.0.0.1:1/m.gguf?token=secret", { ...quick, retries: 10, backoffMs: 60_000 });
    await expect(blocked).rejects.toThrow(
      /^gguf: cannot read 'http:\/\/127\.0\.0\.1:1\/m\.gguf': fetch failed: bad port; check the URL and its redirects$/,
    );
    await using server = await serve((_, response) => void response.writeHead(302, { Location: "ftp://server/m.gguf" }).end());
    await expect(httpSource(server.url, { ...quick, retries: 10, backoffMs: 60_000 })).rejects.toThrow(
      /; check the URL and its redirects$/,
    );
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [404, /HTTP status 404; check the URL/],
    [401, /HTTP status 401; it does not exist or needs permission: check its name, or set a token/],
  ])("status %i is final", async (status, message) => {
    await using server = await serve((_, response) => void response.writeHead(status).end());
    await expect(openSource(server.url)).rejects.toThrow(message);
    expect(server.requests).toHaveLength(1);
  });

  test("a changed file is noticed", async () => {
    let etag = '"a"';
    await using server = await serve((request, response) => sendFile(request, response, { size: bytes.length, etag, read }));
    const source = await httpSource(server.url, quick);
    etag = '"b"';
    await expect(source.read(200_000, 10)).rejects.toMatchObject({ name: "GgufError", code: "changed" });
    etag = 'W/"weak"';
    const weak = await httpSource(server.url, quick);
    etag = 'W/"other"';
    await expect(weak.read(200_000, 10)).rejects.toThrow(/has changed: expected ETag W\/"weak", got W\/"other"; open it again/);
  });

  test("without ETags, a changed date is noticed", async () => {
    let date = "Sat, 01 Nov 2025 00:00:00 GMT";
    await using server = await serve((request, response) =>
      sendFile(request, response, { size: bytes.length, headers: { "Last-Modified": date }, read }),
    );
    const source = await httpSource(server.url, quick);
    expect(await source.read(200_000, 10)).toEqual(read(200_000, 200_010));
    date = "Sun, 02 Nov 2025 00:00:00 GMT";
    await expect(source.read(300_000, 10)).rejects.toThrow(/has changed: expected Last-Modified Sat, .*, got Sun, .*; open it again/);
  });

  test("no request has a header for which a browser would ask the server first", async () => {
    await using server = await serve((request, response) => sendFile(request, response, { size: bytes.length, etag: '"a"', read }));
    const sent: string[] = [];
    const watched: typeof fetch = (input, init) => {
      sent.push(...Object.keys(init?.headers ?? {}));
      return fetch(input, init);
    };
    const source = await httpSource(server.url, { ...quick, fetch: watched });
    for (const at of [200_000, 200_100, 300_000]) await source.read(at, 100);
    await source.close?.();
    // Browsers leave out Accept-Encoding; a single range needs no permission.
    expect(new Set(sent)).toEqual(new Set(["Accept-Encoding", "Range"]));
    expect(server.requests.every(({ headers }) => /^bytes=\d+-\d+$/.test(headers.range ?? ""))).toBe(true);
  });

  test("from a server that ignores ranges, small files are read whole and large ones are refused", async () => {
    await using server = await serve((request, response) => {
      delete request.headers.range;
      return sendFile(request, response, { size: bytes.length, read });
    });
    const file = await readGguf(server.url);
    expect(await file.readTensor("large")).toEqual(await (await readGguf(bytes)).readTensor("large"));
    expect(server.requests).toHaveLength(1);
    await expect(httpSource(server.url, { wholeBytes: 1000 })).rejects.toThrow(
      /cannot read ranges of .* \(\d+ bytes\): its server ignores ranges; download/,
    );
  });

  test("an abort ends it with its reason, also while nothing comes", async () => {
    await using server = await serve(() => undefined);
    const controller = new AbortController();
    const reason = new Error("enough");
    const opening = httpSource(server.url, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(opening).rejects.toBe(reason);
  });

  test("a stalled connection counts as cut", async () => {
    let count = 0;
    await using server = await serve(async (request, response) => {
      if (++count > 1) {
        await sendFile(request, response, { size: bytes.length, read });
        return;
      }
      response.writeHead(206, { "Content-Range": `bytes 0-99/${bytes.length}` });
      response.write(bytes.subarray(0, 10));
    });
    const source = await httpSource(server.url, { backoffMs: 1, stallMs: 500 });
    expect(await source.read(0, 100)).toEqual(bytes.subarray(0, 100));
  });

  test("the parts of a split file are found next to the first one", async () => {
    const { readFileSync } = await import("node:fs");
    const { join } = await import("node:path");
    await using server = await serve((request, response) => {
      const part = readFileSync(join(import.meta.dirname, "fixtures", request.url!.slice("/m/".length)));
      return sendFile(request, response, { size: part.length, read: (start, end) => part.subarray(start, end) });
    });
    const file = await readGguf(new URL("m/split-00001-of-00003.gguf", server.url));
    expect(file.parts).toBe(3);
    expect(await file.readTensorF32("t.f16")).toHaveLength(24);
  });
});

describe("estimateMemory", () => {
  const llama = (heads: WritableEntry): Promise<Awaited<ReturnType<typeof readGguf>>> => {
    const metadata: WritableEntry[] = [
      { key: "general.architecture", type: "string", value: "llama" },
      { key: "llama.context_length", type: "u32", value: 8192 },
      { key: "llama.block_count", type: "u32", value: 32 },
      { key: "llama.embedding_length", type: "u32", value: 4096 },
      { key: "llama.attention.head_count", type: "u32", value: 32 },
      heads,
    ];
    return readGguf(encodeHeader({ version: 3, byteOrder: "little", metadata, tensors: [] }));
  };

  test("the cache of Llama 3 8B is 1 GiB for 8192 tokens in f16, as llama.cpp prints it", async () => {
    const file = await llama({ key: "llama.attention.head_count_kv", type: "u32", value: 8 });
    expect(estimateMemory(file)).toMatchObject({ contextLength: 8192, cacheBytes: 2 ** 30, weightBytes: 0, totalBytes: 2 ** 30 });
    expect(estimateMemory(file, { contextLength: 4096, cacheType: "f32", sequences: 3 }).cacheBytes).toBe(3 * 2 ** 30);
    expect(estimateMemory(file, { contextLength: 4096, cacheType: "q8_0" }).cacheBytes).toBe((2 ** 28 * 34) / 32);
    expect(() => estimateMemory(file, { contextLength: 0 })).toThrow(/contextLength to be a whole number from 1, got 0/);
  });

  test("heads may differ by layer, and are missing in recurrent ones", async () => {
    const value = Uint32Array.from({ length: 32 }, (_, i) => (i % 2 === 0 ? 8 : 0));
    const file = await llama({ key: "llama.attention.head_count_kv", type: "array", elementType: "u32", value });
    expect(estimateMemory(file).cacheBytes).toBe(2 ** 29);
  });

  test("weights are the tensors", async () => {
    await using file = await readGguf(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));
    const estimate = estimateMemory(file, { contextLength: 512 });
    expect(estimate.weightBytes).toBeGreaterThan(0.9 * file.source.size);
    expect(estimate.totalBytes).toBe(estimate.weightBytes + estimate.cacheBytes);
  });
});
