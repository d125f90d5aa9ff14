import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { BatchRequest, BatchResult } from "../queue.ts";

const tiny = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

/** The command of Valkey or Redis, if one is installed. */
const command = ["valkey-server", "redis-server"].find((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});
const isRequired = process.env.REQUIRE_REDIS !== undefined;

const folder = mkdtempSync(join(tmpdir(), "centella-queue-"));
let store: ChildProcess | undefined;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

beforeAll(async () => {
  if (command === undefined) return;
  const port = await freePort();
  store = spawn(command, ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]);
  let log = "";
  store.stdout!.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  await expect.poll(() => log).toContain("Ready to accept connections");
  vi.stubEnv("REDIS_URL", `redis://127.0.0.1:${port}`);
  vi.stubEnv("LOCK_MS", "500");
});

afterAll(async () => {
  vi.unstubAllEnvs();
  if (store !== undefined) {
    const ended = once(store, "close");
    store.kill();
    await ended;
  }
  rmSync(folder, { recursive: true });
});

beforeEach(({ skip }) => {
  if (command === undefined && isRequired) throw new Error("expected valkey-server or redis-server, got neither");
  skip(command === undefined, "neither valkey-server nor redis-server is installed");
});

const started: ChildProcess[] = [];

/** Starts the example's worker. It ends with the test, also where that fails. */
function startWorker(): ChildProcess {
  const script = fileURLToPath(new URL("../work.ts", import.meta.url));
  const worker = spawn(process.execPath, ["--conditions=@centella/source", script, tiny], { stdio: ["ignore", "inherit", "inherit"] });
  started.push(worker);
  return worker;
}

afterEach(() => {
  for (const worker of started.splice(0)) worker.kill("SIGKILL");
});

const requestsOf = (count: number, prefix: string): BatchRequest[] =>
  Array.from({ length: count }, (_, i) => ({
    custom_id: `${prefix}-${i}`,
    method: "POST",
    url: "/v1/completions",
    body: { prompt: `Fox ${i}`, max_tokens: 60, ignore_eos: true },
  }));

async function* each<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

function resultsIn(path: string): readonly BatchResult[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as BatchResult);
}

// The address of the store is read when these are imported.
const modules = async (): Promise<
  typeof import("../produce.ts") & typeof import("../queueWorker.ts") & typeof import("../collect.ts") & typeof import("../queue.ts")
> => ({
  ...(await import("../produce.ts")),
  ...(await import("../queueWorker.ts")),
  ...(await import("../collect.ts")),
  ...(await import("../queue.ts")),
});

test("each request is answered once, by workers of which one is killed", async () => {
  const { produce, collect, connection, queueName } = await modules();
  const requests = requestsOf(40, "killed");
  const path = join(folder, "killed.jsonl");
  const queue = new Queue(queueName, { connection });
  const workers = [startWorker(), startWorker()];
  // Both take requests from the first one on. A fast worker would answer all of them while the other one starts.
  await expect.poll(() => queue.getWorkersCount()).toBe(2);
  expect(await produce(each(requests), 100)).toBe(40);
  // In the queue already.
  await produce(each(requests.slice(0, 5)), 100);
  const collected = collect(path, 20);
  // Each worker has at most 4 requests: both have some.
  await expect.poll(() => queue.getActiveCount(), { interval: 5 }).toBeGreaterThan(4);
  workers[0]!.kill("SIGKILL");
  await queue.close();
  expect(await collected).toBe(40);
  const results = resultsIn(path);
  expect(results.map(({ custom_id: id }) => id).sort()).toEqual(requests.map(({ custom_id: id }) => id).sort());
  for (const { response } of results) expect(response).toMatchObject({ status_code: 200, body: { usage: { completion_tokens: 60 } } });
  // All are in the file: after a crash, none would be written again.
  await produce(each(requests.slice(0, 2)), 100);
  expect(await collect(path, 20)).toBe(0);
  const ended = once(workers[1]!, "close");
  workers[1]!.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
});

test("busy servers are asked again, and wrong requests are not", async () => {
  const { produce, work, collect } = await modules();
  const tries = new Map<string, number>();
  const worker = work({
    fetch: async (request) => {
      const { prompt } = (await request.json()) as { prompt: string };
      const count = (tries.get(prompt) ?? 0) + 1;
      tries.set(prompt, count);
      if (prompt === "Fox 0" && count === 1) return new Response(null, { status: 503 });
      const error = { error: { code: "invalid_value", message: "expected a fox" } };
      return prompt === "Fox 1" ? Response.json(error, { status: 400 }) : Response.json({ prompt });
    },
  });
  const path = join(folder, "retried.jsonl");
  await produce(each(requestsOf(3, "retried")), 100);
  expect(await collect(path, 20)).toBe(3);
  await worker.close();
  expect(Object.fromEntries(tries)).toEqual({ "Fox 0": 2, "Fox 1": 1, "Fox 2": 1 });
  const results = Object.fromEntries(resultsIn(path).map((result) => [result.custom_id, result]));
  expect(results).toMatchObject({
    "retried-0": { response: { status_code: 200, body: { prompt: "Fox 0" } }, error: null },
    "retried-1": { response: null, error: { code: "invalid_value", message: "expected a fox" } },
    "retried-2": { response: { status_code: 200 }, error: null },
  });
});

test("the producer waits while the queue is long", async () => {
  const { produce, work, collect } = await modules();
  let added = 0;
  const requests = requestsOf(12, "long");
  const counted = (async function* () {
    for (const request of requests) {
      yield request;
      added++;
    }
  })();
  const produced = produce(counted, 5, 10);
  await expect.poll(() => added).toBe(5);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(added).toBe(5);
  const worker = work({ fetch: async () => Response.json({}) });
  expect(await produced).toBe(12);
  expect(await collect(join(folder, "long.jsonl"), 20)).toBe(12);
  await worker.close();
});
