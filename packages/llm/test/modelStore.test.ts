import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import { CentellaError, createRuntime, DeviceLostError, type Runtime } from "@centella/core";
import { diskStorage, GgufError, opfsStorage } from "@centella/gguf";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { sendFile, serve } from "../../gguf/test/httpServer.ts";
import { createModelStore, type EngineModel, idleSnapshot, type ModelSnapshot, type ModelStore } from "../src/store/index.ts";
import { LoadProgress } from "../src/store/loadProgress.ts";
import { tiny } from "./modelFiles.ts";

const bytes = readFileSync(tiny);
const sizes = { contextLength: 128 } as const;
const greedy = { temperature: 0, maxTokens: 12 } as const;

let runtime: Runtime;
const folder = mkdtempSync(join(tmpdir(), "model-store-"));
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
});
afterAll(async () => {
  await runtime.dispose();
  rmSync(folder, { recursive: true });
});

const open: ModelStore<EngineModel>[] = [];
afterEach(async () => {
  vi.unstubAllGlobals();
  for (const store of open.splice(0)) await store.unload().catch(() => undefined);
});

/** A store, and the snapshots that it has told of. */
function watched<Store extends ModelStore<EngineModel>>(store: Store): { readonly store: Store; readonly told: ModelSnapshot[] } {
  open.push(store);
  const told: ModelSnapshot[] = [];
  store.subscribe(() => told.push(store.getSnapshot()));
  return { store, told };
}

/** The statuses, without repetitions. */
function statuses(told: readonly ModelSnapshot[]): readonly string[] {
  return told.map(({ status }) => status).filter((status, i, all) => status !== all[i - 1]);
}

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => undefined).catch((reason: unknown) => reason);

/** Serves the model. `hold` may keep an answer open after the first half of its bytes. */
function serveModel(hold: (response: ServerResponse) => boolean = () => false) {
  const half = bytes.length >> 1;
  return serve(async (request, response) => {
    if (request.method === "GET" && hold(response)) {
      const headers = { ETag: '"a"', "Accept-Ranges": "bytes", "Content-Range": `bytes 0-${bytes.length - 1}/${bytes.length}` };
      response.writeHead(206, { ...headers, "Content-Length": bytes.length });
      response.write(bytes.subarray(0, half));
      return;
    }
    await sendFile(request, response, { size: bytes.length, etag: '"a"', read: (from, to) => bytes.subarray(from, to) });
  });
}

describe("a store", () => {
  test("loads a file on this machine, tells its states in order, and frees it", async () => {
    const { store, told } = watched(createModelStore(tiny, { runtime, ...sizes }));
    expect(store.getSnapshot()).toBe(idleSnapshot);
    const model = await store.load();
    expect(store.model).toBe(model);
    expect(statuses(told)).toEqual(["checking", "loading", "ready"]);
    const loading = told.find(({ status }) => status === "loading")!;
    const ready = store.getSnapshot();
    const { weights, cache } = model.info.memory;
    expect(loading.estimate).toEqual(ready.estimate);
    expect(ready.estimate).toEqual({ ...sizes, sequences: 1, weightBytes: weights, cacheBytes: cache, totalBytes: weights + cache });
    expect(ready).toMatchObject({ bytes: ready.totalBytes, backend: "wasm", reasons: [model.info.backendReason], error: undefined });
    expect(await store.load()).toBe(model);
    await store.unload();
    expect(store.getSnapshot()).toEqual(idleSnapshot);
    expect(store.model).toBeUndefined();
    await expect(model.embed(["a"])).rejects.toMatchObject({ code: "disposed" });
  });

  test("keeps a snapshot until something changes, and tells each listener until it leaves", async () => {
    const { store, told } = watched(createModelStore(tiny, { runtime, ...sizes }));
    let calls = 0;
    const leave = store.subscribe(() => calls++);
    const first = store.load();
    expect(store.load()).toBe(first);
    expect(store.getSnapshot()).toBe(store.getSnapshot());
    expect(Object.isFrozen(store.getSnapshot())).toBe(true);
    await first;
    expect(new Set(told).size).toBe(told.length);
    expect(calls).toBe(told.length);
    const ready = store.getSnapshot();
    store.cancel();
    await store.load();
    expect(store.getSnapshot()).toBe(ready);
    leave();
    await store.unload();
    expect(calls).toBe(told.length - 1);
  });

  test("loads again only when the memory of the model before is free", async () => {
    const steps: string[] = [];
    const openRuntime = (): Runtime => {
      steps.push("opened");
      return runtime;
    };
    const { store } = watched(createModelStore(tiny, { runtime: openRuntime, ...sizes }));
    const model = await store.load();
    const dispose = model.dispose.bind(model);
    vi.spyOn(model, "dispose").mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      await dispose();
      steps.push("freed");
    });
    const unloaded = store.unload();
    const next = await store.load();
    await unloaded;
    expect(steps).toEqual(["opened", "freed", "opened"]);
    expect(store.model).toBe(next);
    expect(store.getSnapshot().status).toBe("ready");
  });

  test("tells what the model's sessions do", async () => {
    const { store, told } = watched(createModelStore(tiny, { runtime, ...sizes }));
    const session = (await store.load()).createSession();
    told.length = 0;
    for await (const part of session.generate("Tell me a story.", { ...greedy, progress: true }))
      if (part.type === "prefill" && part.done === part.total)
        expect(store.getSnapshot()).toMatchObject({ status: "generating", prefill: { done: part.total, total: part.total } });
    expect(statuses(told)).toEqual(["generating", "ready"]);
    expect(store.getSnapshot()).toMatchObject({ prefill: undefined, tokensPerSecond: expect.any(Number) });
    told.length = 0;
    const fork = session.fork();
    const finish = await fork.complete("And then?", greedy);
    expect(statuses(told)).toEqual(["generating", "ready"]);
    expect(store.getSnapshot().tokensPerSecond).toBe(finish.timings.decodeTokensPerSecond);
    expect(fork.messages).toHaveLength(4);
    for await (const _ of fork.run("And?", greedy)) break;
    expect(store.getSnapshot().status).toBe("ready");
    const restored = await store.model!.restoreSession(await session.save());
    told.length = 0;
    await restored.complete("Why?", greedy);
    expect(statuses(told)).toEqual(["generating", "ready"]);
  });

  test("says what is wrong with its options at the call, and with its file in a snapshot that a retry clears", async () => {
    expect(() => createModelStore(tiny, {} as never)).toThrow("createModelStore: expected either a runtime or a worker, got neither");
    expect(() => createModelStore(tiny, { runtime, worker: { postMessage() {} } } as never)).toThrow("got both");
    expect(() => createModelStore(tiny, { runtime, contextLength: 0 })).toThrow("contextLength");
    expect(() => createModelStore(tiny, { runtime, signal: new AbortController().signal } as never)).toThrow("signal");
    let isThere = false;
    const source = { size: bytes.length, read: async (at: number, length: number) => new Uint8Array(bytes.subarray(at, at + length)) };
    const read: typeof source.read = (at, length) => (isThere ? source.read(at, length) : Promise.reject(new Error("the drive is gone")));
    const { store, told } = watched(createModelStore({ ...source, read }, { runtime, ...sizes }));
    const error = await failure(store.load());
    expect(String(error)).toContain("the drive is gone");
    expect(store.getSnapshot()).toMatchObject({ status: "error", error });
    isThere = true;
    await store.load();
    expect(statuses(told)).toEqual(["checking", "error", "checking", "loading", "ready"]);
    expect(store.getSnapshot().error).toBeUndefined();
  });

  test("reports a lost device, and loads again on the next one", async () => {
    let opened = 0;
    const openRuntime = (): Runtime => {
      opened++;
      return runtime;
    };
    const { store } = watched(createModelStore(tiny, { runtime: openRuntime, ...sizes }));
    const model = await store.load();
    const session = model.createSession();
    await session.complete("Once", greedy);
    const loss = new DeviceLostError("gpu", "a test");
    // The signal's reason stands for the error of a device: a turn rejects with either.
    expect(await failure(session.complete("And then?", { ...greedy, signal: AbortSignal.abort(loss) }))).toBe(loss);
    expect(store.getSnapshot()).toMatchObject({ status: "lost", error: loss });
    expect(session.messages).toHaveLength(2);
    const next = await store.load();
    expect(next).not.toBe(model);
    expect(opened).toBe(2);
    expect(store.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    await next.createSession({ messages: session.messages }).complete("And then?", greedy);
  });
});

test("a model that the memory does not hold is an error with numbers, and a smaller context loads", async () => {
  await using small = await createRuntime({ backends: [wasm({ threads: 1, maxMemoryMiB: 8 })], policy: { force: "wasm" } });
  const { store, told } = watched(createModelStore(tiny, { runtime: small, contextLength: 1024, sequences: 16 }));
  const error = await failure(store.load());
  expect(error).toBeInstanceOf(CentellaError);
  expect(String(error)).toMatch(/bytes of free memory, got \d+; the limit is 8388608 bytes/);
  expect(statuses(told).at(-1)).toBe("error");
  expect(store.getSnapshot().error).toBe(error);
  const { store: next } = watched(createModelStore(tiny, { runtime: small, contextLength: 64, sequences: 1 }));
  await (await next.load()).createSession().complete("Once", greedy);
  expect(next.getSnapshot().status).toBe("ready");
});

describe("downloads", () => {
  test("that are cancelled leave nothing running, and go on where they stopped", async () => {
    let held: ServerResponse | undefined;
    await using server = await serveModel((response) => {
      if (held !== undefined) return false;
      held = response;
      return true;
    });
    const cache = await diskStorage(join(folder, "cancelled"));
    const { store, told } = watched(createModelStore(new URL("m.gguf", server.url), { runtime, cache, ...sizes }));
    const cancelled = failure(store.load());
    await expect.poll(() => store.getSnapshot()).toMatchObject({ status: "downloading", error: undefined });
    expect(store.getSnapshot().totalBytes).toBe(bytes.length);
    await expect.poll(async () => (await cache.names()).some((name) => name.endsWith(".partial"))).toBe(true);
    store.cancel();
    expect(store.getSnapshot()).toEqual(idleSnapshot);
    // The next load waits for the end of the one before, which holds the file's lock.
    await store.load();
    expect(await cancelled).toMatchObject({ name: "AbortError" });
    expect(statuses(told)).toEqual(["checking", "downloading", "idle", "checking", "downloading", "loading", "ready"]);
    expect(server.requests.at(-1)!.headers.range).toMatch(/^bytes=[1-9]\d+-$/);
    expect(store.model!.info.warnings).toEqual([]);
  });

  test("that do not fit into the browser's quota are refused before their bytes are read", async () => {
    await using server = await serveModel();
    const missing = async (): Promise<never> => {
      throw new DOMException("none", "NotFoundError");
    };
    const empty = { name: "models", async *keys() {}, getFileHandle: missing, removeEntry: missing };
    vi.stubGlobal("navigator", { storage: { estimate: async () => ({ quota: 1_000_000, usage: 900_000 }) } });
    const cache = await opfsStorage(empty);
    const { store, told } = watched(createModelStore(new URL("m.gguf", server.url), { runtime, cache, ...sizes }));
    const error = await failure(store.load());
    expect(error).toBeInstanceOf(GgufError);
    expect(error).toMatchObject({ code: "quota", expected: expect.stringContaining(String(bytes.length)), got: "100000" });
    expect(statuses(told)).toEqual(["checking", "error"]);
    expect(store.getSnapshot().error).toBe(error);
  });
});

test("a model in a worker reports as one in this thread does, and a worker that ended is a loss", async () => {
  const start = (): Worker =>
    new Worker(new URL("workers/serving.ts", import.meta.url), { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
  let worker: Worker | undefined;
  const { store, told } = watched(createModelStore(tiny, { worker: () => (worker = start()), ...sizes }));
  const session = (await store.load()).createSession();
  await session.complete("Once", greedy);
  expect(statuses(told)).toEqual(["checking", "loading", "ready", "generating", "ready"]);
  await worker!.terminate();
  const error = await failure(session.complete("And then?", greedy));
  expect(error).toBeInstanceOf(DeviceLostError);
  expect(store.getSnapshot()).toMatchObject({ status: "lost", error });
  expect(session.messages).toHaveLength(2);
  await store.load();
  expect(store.getSnapshot().status).toBe("ready");
  await store.unload();
  await worker!.terminate();
});

describe("progress", () => {
  test("has a smoothed rate that a resumed beginning does not raise", () => {
    const told: Partial<ModelSnapshot>[] = [];
    const progress = new LoadProgress((changes) => told.push(changes));
    const report = (...counts: Parameters<LoadProgress["report"]>) => {
      progress.report(...counts);
      return told.splice(0);
    };
    expect(report(5e8, 1e9, "download", 0)).toEqual([{ status: "downloading", bytes: 5e8, totalBytes: 1e9, rate: undefined }]);
    expect(report(5e8 + 1, 1e9, "download", 50)).toEqual([]);
    expect(report(5.1e8, 1e9, "download", 1000)).toMatchObject([{ rate: 1e7 }]);
    const [{ rate } = {}] = report(5.3e8, 1e9, "download", 2000);
    expect(rate).toBeGreaterThan(1e7);
    expect(rate).toBeLessThan(2e7);
    expect(report(1e9, 1e9, "download", 2010)).toEqual([{ bytes: 1e9 }]);
    expect(report(1, 10, "load", 2011)).toEqual([{ status: "loading", bytes: 1, totalBytes: 10, rate: undefined }]);
  });

  test("is up to date where a download stalls, and silent once it has ended", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const told: (number | undefined)[] = [];
    const progress = new LoadProgress(({ bytes }) => told.push(bytes));
    progress.report(1, 10, "download", 0);
    progress.report(2, 10, "download", 1);
    progress.report(3, 10, "download", 2);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([1, 3]);
    progress.report(4, 10, "download", 103);
    progress.stop();
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([1, 3]);
  });
});
