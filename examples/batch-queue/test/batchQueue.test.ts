import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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
  // Vitest has `expect.poll` in tests alone, not in hooks.
  await vi.waitFor(() => expect(log).toContain("Ready to accept connections"), { timeout: 60_000 });
  vi.stubEnv("REDIS_URL", `redis://127.0.0.1:${port}`);
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

/** Starts a worker, whose requests are soon taken over once it has crashed. It ends with the test, also where that fails. */
function startWorker(script: string): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const worker = spawn(process.execPath, ["--conditions=@centella/source", path, tiny], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, LOCK_MS: "500" },
  });
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
  typeof import("../produce.ts") & typeof import("../queueWorker.ts") & typeof import("../collect.ts")
> => ({
  ...(await import("../produce.ts")),
  ...(await import("../queueWorker.ts")),
  ...(await import("../collect.ts")),
});

test("each request is answered once, also those of a worker that has crashed", async () => {
  const { produce, collect } = await modules();
  const requests = requestsOf(40, "killed");
  const path = join(folder, "killed.jsonl");
  const crashed = once(startWorker("crashingWorker.ts"), "close");
  expect(await produce(each(requests), 100)).toBe(40);
  // In the queue already.
  await produce(each(requests.slice(0, 5)), 100);
  expect(await crashed).toEqual([null, "SIGKILL"]);
  const worker = startWorker("../work.ts");
  expect(await collect(path, 20)).toBe(40);
  const results = resultsIn(path);
  expect(results.map(({ custom_id: id }) => id).sort()).toEqual(requests.map(({ custom_id: id }) => id).sort());
  for (const { response } of results) expect(response).toMatchObject({ status_code: 200, body: { usage: { completion_tokens: 60 } } });
  // All are in the file: after a crash, none would be written again.
  await produce(each(requests.slice(0, 2)), 100);
  expect(await collect(path, 20)).toBe(0);
  const ended = once(worker, "close");
  worker.kill("SIGTERM");
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
