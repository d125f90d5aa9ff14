import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import type { ByteSource } from "@centella/gguf";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { serveHub } from "../../gguf/test/faultyHub.ts";
import { sendFile, serve, type TestServer } from "../../gguf/test/httpServer.ts";
import { type LoadStage, loadModel, type Session } from "../src/index.ts";
import { loadModel as loadInWorker } from "../src/worker/index.ts";
import { tiny } from "./modelFiles.ts";

const bytes = new Uint8Array(readFileSync(tiny));
const greedy = { temperature: 0, maxTokens: 4 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const folder = mkdtempSync(join(tmpdir(), "llm-sources-"));
let runtime: Runtime;
let expected: readonly number[];

async function idsOf(model: { createSession(): Pick<Session, "complete"> }): Promise<readonly number[]> {
  return (await model.createSession().complete({ ids: once }, greedy)).ids;
}

beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await using model = await loadModel(tiny, { runtime, contextLength: 64 });
  expected = await idsOf(model);
});
afterAll(async () => {
  await runtime.dispose();
  rmSync(folder, { recursive: true });
});
afterEach(() => vi.unstubAllEnvs());

/** Serves the tiny model at any path. */
function serveModel(): Promise<TestServer> {
  return serve((request, response) =>
    sendFile(request, response, { size: bytes.length, etag: '"a"', read: (start, end) => bytes.subarray(start, end) }),
  );
}

describe("a string names a model", () => {
  test("as a URL, whose bytes are fetched once", async () => {
    await using server = await serveModel();
    const stages = new Set<LoadStage>();
    const onProgress = (_done: number, _total: number, stage: LoadStage): void => void stages.add(stage);
    await using model = await loadModel(new URL("m.gguf", server.url).href, { runtime, contextLength: 64, onProgress });
    expect(await idsOf(model)).toEqual(expected);
    expect([...stages]).toEqual(["load"]);
    expect(server.requests.length).toBeLessThanOrEqual(3);
    expect(server.bytesSent()).toBeLessThan(bytes.length + 4_000);
  });

  test("as a file: URL", async () => {
    await using model = await loadModel(pathToFileURL(tiny).href, { runtime, contextLength: 64 });
    expect(await idsOf(model)).toEqual(expected);
  });

  test("on a hub, from which it is downloaded once", async () => {
    await using hub = await serveHub({ "tiny-Q8_0.gguf": bytes }, () => "none");
    vi.stubEnv("HF_ENDPOINT", hub.url.href);
    vi.stubEnv("XDG_CACHE_HOME", folder);
    const stages: LoadStage[] = [];
    const onProgress = (_done: number, _total: number, stage: LoadStage): void => void stages.push(stage);
    await using model = await loadModel("hf:o/r:Q8_0", { runtime, contextLength: 64, onProgress });
    expect(await idsOf(model)).toEqual(expected);
    expect([...new Set(stages)]).toEqual(["download", "load"]);
    const { length } = hub.requests;
    await using again = await loadModel("hf:o/r:Q8_0", { runtime, contextLength: 64 });
    expect(await idsOf(again)).toEqual(expected);
    expect(hub.requests).toHaveLength(length);
  });

  test("or an adapter, by the same rule", async () => {
    await using server = await serveModel();
    const source = new URL("m.gguf", server.url).href;
    // The URL names a model, which is not an adapter.
    await expect(loadModel(tiny, { runtime, contextLength: 64, adapters: [{ source }] })).rejects.toThrow(
      /expected general.type = adapter/,
    );
    await expect(loadModel(tiny, { runtime, contextLength: 64, adapters: [{ source: "ftp://a/b" }] })).rejects.toThrow(/'ftp:\/\/a\/b'/);
  });

  test("for a worker too", async () => {
    await using server = await serveModel();
    const script = new URL("workers/serving.ts", import.meta.url);
    const worker = new Worker(script, { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
    try {
      for (const source of [new URL("m.gguf", server.url).href, pathToFileURL(tiny).href]) {
        await using model = await loadInWorker(source, { worker, contextLength: 64 });
        expect(await idsOf(model)).toEqual(expected);
      }
      await expect(loadInWorker("ftp://a/b", { worker })).rejects.toMatchObject({ name: "GgufError", code: "range" });
    } finally {
      await worker.terminate();
    }
  });
});

describe("a loaded model does not read its source again", () => {
  /** The digest of tensor table and samples that snapshots of this model have always carried. */
  const fingerprint = "llama-53e6741867081d46";
  const modelOf = (snapshot: Uint8Array): unknown => {
    const length = new DataView(snapshot.buffer, snapshot.byteOffset).getUint32(12, true);
    return (JSON.parse(new TextDecoder().decode(snapshot.subarray(16, 16 + length))) as { readonly model: unknown }).model;
  };

  test("to save a session, even if the source fails by then", async () => {
    let isGone = false;
    const source: ByteSource = {
      size: bytes.length,
      read: async (offset, length) =>
        isGone ? Promise.reject(new Error("the link has expired")) : bytes.subarray(offset, offset + length),
    };
    await using model = await loadModel(source, { runtime, contextLength: 64 });
    isGone = true;
    using session = model.createSession();
    await session.complete({ ids: once }, greedy);
    const saved = await session.save();
    expect(modelOf(saved)).toBe(fingerprint);
    using restored = await model.restoreSession(saved);
    expect((await restored.complete({ ids: [5] }, greedy)).ids).toHaveLength(4);
    expect(await model.embed(["A fox."])).toHaveLength(1);
  });

  test("by HTTP either", async () => {
    await using server = await serveModel();
    await using model = await loadModel(server.url, { runtime, contextLength: 64 });
    const { length } = server.requests;
    expect(modelOf(await model.createSession().save())).toBe(fingerprint);
    expect(server.requests).toHaveLength(length);
    expect(length).toBeLessThanOrEqual(3);
  });
});
