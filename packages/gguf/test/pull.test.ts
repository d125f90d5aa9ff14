import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { diskStorage, findPartial, findStored, GgufError, listModels, pull, readGguf, removeModel } from "../src/index.ts";
import { faults, randomFrom, randomModel, runFaults, serveHub, sha256 } from "./faultyHub.ts";
import { sendFile, serve } from "./httpServer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-pull-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());
let folders = 0;
const newFolder = (): string => join(folder, `storage-${folders++}`);
const model = (seed: number, bytes = 50_000): Uint8Array<ArrayBuffer> => randomModel(bytes, randomFrom(seed));
const quick = { backoffMs: 1, stallMs: 60_000 };
const healthy = (): "none" => "none";

describe("pull from a hub", () => {
  const files = {
    "m-Q4_0.gguf": model(1),
    "m-Q4_K_M.gguf": model(2),
    "sub/m-Q8_0.gguf": model(3),
    "README.md": new Uint8Array(3),
    "mmproj-Q8_0.gguf": model(4),
  };

  test.each([
    ["hf:o/r:Q4_0", "m-Q4_0.gguf"],
    ["hf:o/r:q8_0", "sub/m-Q8_0.gguf"],
    ["hf:o/r", "m-Q4_K_M.gguf"],
    ["hf:o/r/sub/m-Q8_0.gguf", "sub/m-Q8_0.gguf"],
  ] as const)("%s is %s, verified, and found again without a request", async (source, path) => {
    await using hub = await serveHub(files, healthy);
    const storage = await diskStorage(newFolder());
    const progress: (number | undefined)[] = [];
    const options = { storage, endpoint: hub.url, onProgress: ({ done }: { done: number }) => void progress.push(done) };
    const pulled = await pull(source, options);
    expect(pulled).toMatchObject({ wasStored: false, source, bytes: files[path].length });
    expect(pulled.files).toMatchObject([{ sha256: sha256(files[path]), isVerified: true, bytes: files[path].length }]);
    expect(readFileSync(String(pulled.input[0])).equals(files[path])).toBe(true);
    expect(progress.at(-1)).toBe(files[path].length);
    const requests = hub.requests.length;
    expect((await pull(source, options)).wasStored).toBe(true);
    expect(hub.requests).toHaveLength(requests);
    expect((await pull(source, { ...options, refresh: true })).wasStored).toBe(false);
    // The list was asked for again, the bytes were not.
    expect(hub.requests).toHaveLength(requests + 1);
    expect(readdirSync(storage.location).toSorted()).toEqual([pulled.name, `${pulled.name}.json`]);
    await using file = await readGguf(pulled.input);
    expect(file.hasTensor("t")).toBe(true);
  });

  test("split files come with all parts", async () => {
    const parts = Object.fromEntries(
      readdirSync(join(import.meta.dirname, "fixtures"))
        .filter((name) => name.startsWith("split-"))
        .map((name) => [name, readFileSync(join(import.meta.dirname, "fixtures", name))]),
    );
    await using hub = await serveHub(parts, healthy);
    for (const source of ["hf:o/r:split", new URL("o/r/resolve/main/split-00001-of-00003.gguf", hub.url)]) {
      const storage = await diskStorage(newFolder());
      const { input, files: stored } = await pull(source, { storage, endpoint: hub.url });
      expect(stored.every(({ isVerified }) => isVerified)).toBe(true);
      await using file = await readGguf(input);
      await using byPath = await readGguf(String(input[0]));
      expect([file.parts, byPath.parts]).toEqual([3, 3]);
      expect(await listModels(storage)).toHaveLength(1);
    }
  });

  test("what is not there is said, with what is", async () => {
    await using hub = await serveHub(files, healthy);
    const options = { storage: await diskStorage(newFolder()), endpoint: hub.url };
    await expect(pull("hf:o/r:Q2_K", options)).rejects.toThrow(
      /one Q2_K model in o\/r, got m-Q4_0\.gguf, m-Q4_K_M\.gguf, sub\/m-Q8_0\.gguf/,
    );
    await expect(pull("hf:o/r/none.gguf", options)).rejects.toThrow(/'none\.gguf' in o\/r/);
    for (const source of ["hf:o", "hf:o/r/../../x.gguf", "model.gguf", "file:///model.gguf", "hf:o/r:"])
      await expect(pull(source, options), source).rejects.toMatchObject({ code: "range" });
  });

  // Hugging Face does not say whether a repository is private or does not exist.
  test.each([401, 404])("a repository that does not exist is an error that says to check its name: status %i", async (status) => {
    await using hub = await serve((_, response) => void response.writeHead(status).end());
    const options = { storage: await diskStorage(newFolder()), endpoint: hub.url };
    await expect(pull("hf:o/none:Q4_K_M", options)).rejects.toMatchObject({
      code: "io",
      message: expect.stringMatching(/o\/none.*HTTP status 40[14].*check/),
    });
    expect(hub.requests).toHaveLength(1);
  });

  test("the token goes to the hub alone and is never shown", async () => {
    const bytes = model(5);
    const seen: (string | undefined)[] = [];
    await using cdn = await serve((request, response) => {
      seen.push(request.headers.authorization);
      return sendFile(request, response, { size: bytes.length, read: (start, end) => bytes.subarray(start, end) });
    });
    await using hub = await serve((request, response) => {
      if (request.headers.authorization !== "Bearer hf_secret") response.writeHead(401).end();
      else if (request.url!.startsWith("/api/"))
        response.end(
          JSON.stringify([{ type: "file", path: "m.gguf", size: bytes.length, lfs: { oid: sha256(bytes), size: bytes.length } }]),
        );
      // The loopback under another name is another origin.
      else response.writeHead(302, { Location: `http://localhost:${cdn.url.port}/m?X-Signature=hush` }).end();
    });
    vi.stubEnv("HF_TOKEN", "hf_secret");
    vi.stubEnv("HF_ENDPOINT", hub.url.href);
    const storage = await diskStorage(newFolder());
    await pull("hf:o/r", { storage });
    expect(seen).toEqual([undefined]);
    for (const name of readdirSync(storage.location))
      expect(readFileSync(join(storage.location, name), "latin1")).not.toMatch(/hf_secret|hush/);
    vi.stubEnv("HF_TOKEN", "hf_wrong");
    const error = String(await pull("hf:o/other", { storage }).catch((reason: unknown) => reason));
    expect(error).toMatch(/HTTP status 401; it does not exist or needs permission: check its name, or set a token/);
    expect(error).not.toContain("hf_wrong");
  });
});

describe("a pull", () => {
  test("aborted keeps what it has, and the next one asks for the rest", async () => {
    const bytes = model(6, 3_000_000);
    const starts: string[] = [];
    await using hub = await serveHub({ "m.gguf": bytes }, (request) => {
      starts.push(request.headers.range ?? "");
      return "none";
    });
    const storage = await diskStorage(newFolder());
    const controller = new AbortController();
    const reason = new Error("enough");
    const onProgress = ({ done }: { done: number }): void => {
      if (done > 500_000) controller.abort(reason);
    };
    await expect(pull("hf:o/r", { storage, endpoint: hub.url, signal: controller.signal, onProgress })).rejects.toBe(reason);
    const kept = (await storage.size("o--r--m.gguf.partial"))!;
    expect(kept).toBeGreaterThan(500_000);
    expect(await listModels(storage)).toEqual([]);
    await pull("hf:o/r", { storage, endpoint: hub.url });
    expect(starts).toEqual(["bytes=0-", `bytes=${kept}-`]);
  });

  test("aborted after its last byte, of a file whose size no list says, needs no more bytes", async () => {
    const bytes = model(16, 400_000);
    const starts: string[] = [];
    await using server = await serve((request, response) => {
      if (request.method === "GET") starts.push(request.headers.range ?? "");
      return sendFile(request, response, { size: bytes.length, etag: '"a"', read: (start, end) => bytes.subarray(start, end) });
    });
    const url = new URL("m.gguf", server.url);
    const storage = await diskStorage(newFolder());
    const stop = new AbortController();
    const onProgress = ({ done }: { readonly done: number }): void => {
      if (done === bytes.length) stop.abort(new Error("enough"));
    };
    await expect(pull(url, { storage, signal: stop.signal, onProgress })).rejects.toThrow("enough");
    expect(await storage.size((await storage.names()).find((name) => name.endsWith(".partial"))!)).toBe(bytes.length);
    expect((await pull(url, { storage })).files).toMatchObject([{ sha256: sha256(bytes), etag: '"a"' }]);
    expect(starts).toEqual(["bytes=0-"]);
  });

  test("a file that has changed since is begun again", async () => {
    const [before, after] = [model(7, 400_000), model(8, 400_000)];
    let bytes = before;
    await using server = await serve(async (request, response) => {
      const file = { size: bytes.length, etag: `"${sha256(bytes)}-v"`, read: (start: number, end: number) => bytes.subarray(start, end) };
      if (bytes === before && request.method === "GET") response.once("drain", () => response.destroy());
      await sendFile(request, response, file);
      if (bytes === before && request.method === "GET") response.destroy();
    });
    const storage = await diskStorage(newFolder());
    const name = `127.0.0.1_${server.url.port}--m.gguf`;
    mkdirSync(storage.location, { recursive: true });
    writeFileSync(join(storage.location, `${name}.partial`), before.subarray(0, 1000));
    const state = { url: new URL("m.gguf", server.url).href, etag: `"${sha256(before)}-v"` };
    writeFileSync(join(storage.location, `${name}.partial.json`), JSON.stringify(state));
    bytes = after;
    const { files } = await pull(new URL("m.gguf", server.url), { storage, ...quick });
    expect(files[0]).toMatchObject({ sha256: sha256(after), isVerified: false });
  });

  test("wrong bytes are removed, and never have the name", async () => {
    const bytes = model(9);
    await using hub = await serveHub({ "m.gguf": bytes }, () => "wrong bytes");
    const storage = await diskStorage(newFolder());
    await expect(pull("hf:o/r", { storage, endpoint: hub.url })).rejects.toMatchObject({ code: "corrupt" });
    expect(await storage.names()).toEqual([]);
  });

  test("a web page in place of a model is refused, even if neither size nor digest are known", async () => {
    await using server = await serve((_, response) => void response.end("<html>please sign in first, then come back</html>"));
    const storage = await diskStorage(newFolder());
    await expect(pull(server.url, { storage })).rejects.toThrow(/the bytes 'GGUF', got "<htm".*web page/);
    expect(await storage.names()).toEqual([]);
  });

  test("a digest from the caller counts", async () => {
    const bytes = model(10);
    await using hub = await serveHub({ "m.gguf": bytes }, healthy);
    const url = new URL("cdn/m.gguf", hub.url);
    const storage = await diskStorage(newFolder());
    await expect(pull(url, { storage, sha256: "0".repeat(64) })).rejects.toMatchObject({ code: "corrupt" });
    expect((await pull(url, { storage, sha256: sha256(bytes) })).files[0]!.isVerified).toBe(true);
    await expect(pull(url, { storage, sha256: "abc", refresh: true })).rejects.toThrow(/64 hexadecimal digits/);
  });

  test("a hub that does not answer when asked for the digest is asked again, and not trusted without it", async () => {
    const bytes = model(16);
    const wrong = bytes.with(bytes.length - 1, bytes.at(-1)! ^ 1);
    let failures = 2;
    await using hub = await serve((request, response) => {
      if (request.method === "HEAD") failures--;
      if (request.method !== "HEAD")
        void sendFile(request, response, { size: bytes.length, read: (start, end) => wrong.subarray(start, end) });
      else if (failures >= 1) request.socket.destroy();
      else if (failures === 0) response.writeHead(503).end();
      else response.writeHead(200, { "X-Linked-ETag": `"${sha256(bytes)}"`, "X-Linked-Size": String(bytes.length) }).end();
    });
    const storage = await diskStorage(newFolder());
    const url = new URL("m.gguf", hub.url);
    await expect(pull(url, { storage, ...quick, retries: 3 })).rejects.toMatchObject({ code: "corrupt" });
    failures = Number.POSITIVE_INFINITY;
    await expect(pull(url, { storage, ...quick, retries: 1 })).rejects.toMatchObject({ code: "io" });
    expect(await storage.names()).toEqual([]);
  });

  test("without room it does not begin", async () => {
    await using hub = await serveHub({ "m.gguf": model(11) }, healthy);
    const storage = { ...(await diskStorage(newFolder())), freeBytes: async () => 1000 };
    await expect(pull("hf:o/r", { storage, endpoint: hub.url })).rejects.toThrow(/free bytes in .*, got 1000; remove models/);
    expect(hub.requests).toHaveLength(1);
  });

  test("a folder that cannot be used is a typed error", async () => {
    await using hub = await serveHub({ "m.gguf": model(11) }, healthy);
    const file = join(newFolder(), "file");
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "");
    await expect(pull("hf:o/r", { storage: await diskStorage(join(file, "models")), endpoint: hub.url })).rejects.toMatchObject({
      name: "GgufError",
      code: "storage",
      message: expect.stringMatching(/expected the storage .*models to be usable, got .*; check the folder, or choose another one$/),
    });
  });

  test("two at once do not write one file", async () => {
    let fault: "stall" | "none" = "stall";
    await using hub = await serveHub({ "m.gguf": model(12, 2_000_000) }, () => fault);
    const storage = await diskStorage(newFolder());
    const stop = new AbortController();
    let first!: Promise<unknown>;
    await new Promise<void>((resolve, reject) => {
      const onProgress = ({ done }: { readonly done: number }): void => void (done > 0 && resolve());
      first = pull("hf:o/r", { storage, endpoint: hub.url, stallMs: 600_000, signal: stop.signal, onProgress });
      first.catch(reject);
    });
    await expect(pull("hf:o/r", { storage, endpoint: hub.url })).rejects.toMatchObject({ code: "busy" });
    stop.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    fault = "none";
    expect(await pull("hf:o/r", { storage, endpoint: hub.url })).toMatchObject({ wasStored: false });
  });

  test("the beginning of an interrupted one has the header", async () => {
    await using hub = await serveHub({ "m.gguf": model(14, 2_000_000) }, healthy);
    const storage = await diskStorage(newFolder());
    const stop = new AbortController();
    const onProgress = ({ done }: { readonly done: number }): void => {
      if (done > 500_000) stop.abort(new Error("enough"));
    };
    await expect(pull("hf:o/r", { storage, endpoint: hub.url, signal: stop.signal, onProgress })).rejects.toThrow("enough");
    expect(await findPartial(storage, "hf:o/other")).toBeUndefined();
    const partial = await findPartial(storage, "hf:o/r");
    await using file = await readGguf(partial!);
    expect(file.tensors.map(({ name }) => name)).toEqual(["t"]);
    await expect(file.readTensor("t")).rejects.toMatchObject({ name: "GgufError" });
    await partial!.close?.();
    await pull("hf:o/r", { storage, endpoint: hub.url });
    expect(await findPartial(storage, "hf:o/r")).toBeUndefined();
  });

  test("models are listed, found and removed", async () => {
    await using hub = await serveHub({ "m.gguf": model(13) }, healthy);
    const storage = await diskStorage(newFolder());
    expect(await listModels(storage)).toEqual([]);
    const { name } = await pull("hf:o/r", { storage, endpoint: hub.url });
    expect((await listModels(storage)).map(({ source }) => source)).toEqual(["hf:o/r"]);
    expect((await findStored(storage, name))?.source).toBe("hf:o/r");
    await removeModel(storage, "hf:o/r");
    expect(await storage.names()).toEqual([]);
    await expect(removeModel(storage, name)).rejects.toMatchObject({ code: "missing" });
  });
});

describe("faults", () => {
  test.each(Array.from({ length: 30 }, (_, i) => 1000 + i))("seed %i: nothing corrupt, taken up again", async (seed) => {
    expect((await runFaults(seed, folder)).violations).toEqual([]);
  });

  test.each(faults)("%s ends in a GgufError or the right file", async (fault) => {
    const bytes = model(14);
    await using hub = await serveHub({ "m.gguf": bytes }, () => fault, randomFrom(3));
    const storage = await diskStorage(newFolder());
    const result = await pull("hf:o/r", { storage, endpoint: hub.url, backoffMs: 1, stallMs: 100, retries: 1 }).catch(
      (error: unknown) => error,
    );
    if (result instanceof GgufError) expect(await storage.size("o--r--m.gguf")).toBeUndefined();
    else expect(readFileSync(join(storage.location, "o--r--m.gguf")).equals(bytes)).toBe(true);
  });
});
