import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { diskStorage, findStored, pull } from "../src/index.ts";
import { randomFrom, randomModel, sha256 } from "./faultyHub.ts";
import { sendFile, serve, type TestServer } from "./httpServer.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-ollama-"));
afterAll(() => rmSync(folder, { recursive: true }));
const bytes = randomModel(50_000, randomFrom(1));
const digest = sha256(bytes);
const manifest = {
  schemaVersion: 2,
  layers: [
    { mediaType: "application/vnd.ollama.image.template", digest: `sha256:${sha256(new Uint8Array(3))}`, size: 3 },
    { mediaType: "application/vnd.ollama.image.model", digest: `sha256:${digest}`, size: bytes.length },
  ],
};

/** A registry with one model under each of these paths, whose blob is `content`. */
function registry(paths: readonly string[], answer: object = manifest, content: Uint8Array = bytes): Promise<TestServer> {
  return serve(async (request, response) => {
    expect(request.headers.authorization).toBeUndefined();
    const { pathname } = new URL(request.url!, "http://registry");
    if (paths.includes(pathname)) response.end(JSON.stringify(answer));
    else if (pathname.endsWith(`/blobs/sha256:${digest}`))
      await sendFile(request, response, { size: content.length, read: (start, end) => content.subarray(start, end) });
    else response.writeHead(404).end();
  });
}

let folders = 0;
const newStorage = () => diskStorage(join(folder, `storage-${folders++}`));
const quick = { backoffMs: 1, retries: 0 };

test.each([
  ["ollama:tiny", "/v2/library/tiny/manifests/latest", "ollama--tiny--latest.gguf"],
  ["ollama:tiny:1b-q4_0", "/v2/library/tiny/manifests/1b-q4_0", "ollama--tiny--1b-q4_0.gguf"],
  ["ollama:someone/tiny:1b", "/v2/someone/tiny/manifests/1b", "ollama--someone--tiny--1b.gguf"],
])("%s is the layer of the manifest that is the model", async (reference, path, name) => {
  await using server = await registry([path]);
  const storage = await newStorage();
  const options = { storage, endpoint: server.url, token: "secret", ...quick };
  const pulled = await pull(reference, options);
  expect([pulled.name, pulled.source, pulled.wasStored]).toEqual([name, reference, false]);
  expect(readFileSync(String(pulled.input[0])).equals(bytes)).toBe(true);
  expect((await pull(reference, options)).wasStored).toBe(true);
  expect(await findStored(storage, reference)).toBeDefined();
});

test("a blob with other bytes than its digest is refused", async () => {
  await using server = await registry(["/v2/library/tiny/manifests/latest"], manifest, randomModel(50_000, randomFrom(2)));
  const pulled = pull("ollama:tiny", { storage: await newStorage(), endpoint: server.url, ...quick });
  await expect(pulled).rejects.toMatchObject({ name: "GgufError", code: expect.stringMatching(/corrupt|io/) });
});

test.each([
  ["ollama:", /expected ollama:NAME or ollama:NAME:TAG, got 'ollama:'/],
  ["ollama:../x", /expected ollama:NAME or ollama:NAME:TAG/],
  ["ollama:a/b/c", /expected ollama:NAME or ollama:NAME:TAG/],
  ["ollama:absent", /404/],
])("%s is refused", async (reference, message) => {
  await using server = await registry([]);
  await expect(pull(reference, { storage: await newStorage(), endpoint: server.url, ...quick })).rejects.toThrow(message);
});

test.each([[{}], [{ layers: 5 }], [{ layers: [null, { mediaType: "application/vnd.ollama.image.model", digest: "sha256:short" }] }]])(
  "a manifest without a model is refused: %j",
  async (answer) => {
    await using server = await registry(["/v2/library/tiny/manifests/latest"], answer);
    const pulled = pull("ollama:tiny", { storage: await newStorage(), endpoint: server.url, ...quick });
    await expect(pulled).rejects.toThrow(/expected a model in http:.*manifests\/latest, got a manifest without one/);
  },
);
