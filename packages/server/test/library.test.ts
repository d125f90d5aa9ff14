import { Ollama } from "ollama";
import { expect, test } from "vitest";
import { createHandler, type Handler, type ModelLibrary } from "../src/index.ts";
import { fetchFrom, get, post, TestModel } from "./serving.ts";

const served = await TestModel.forFile();
const base = { prompt: "The fox", max_tokens: 1 };

/** A library with the model `hub:fox`, in which other names are missing. */
class Hub implements ModelLibrary {
  readonly form = "hub:NAME";
  readonly stored = new Set<string>();
  /** Signal of the last download. */
  signal: AbortSignal | undefined;
  /** Settles before a model that was pulled is loaded. */
  mayLoad: Promise<void> | undefined;

  nameOf(given: string): string | undefined {
    return given.startsWith("hub:") ? given : undefined;
  }

  async pull(name: string, { signal, onProgress }: Parameters<ModelLibrary["pull"]>[1]): Promise<void> {
    this.signal = signal;
    if (name === "hub:endless") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    if (name !== "hub:fox") throw Object.assign(new Error("no such model at /secret"), { code: "missing" });
    onProgress(0, 10);
    onProgress(10, 10);
    this.stored.add(name);
  }

  loader(name: string) {
    return {
      isLazy: true,
      load: async () => {
        await this.pull(name, { signal: new AbortController().signal, onProgress: () => undefined });
        await this.mayLoad;
        return (await TestModel.load()).model;
      },
    };
  }

  async remove(name: string): Promise<void> {
    if (!this.stored.delete(name)) throw Object.assign(new Error(), { code: "missing" });
  }
}

function start(): { readonly hub: Hub; readonly handler: Handler; readonly client: Ollama } {
  const hub = new Hub();
  const handler = createHandler({ models: { fable: served.model }, library: hub });
  return { hub, handler, client: new Ollama({ fetch: fetchFrom(handler), host: "http://localhost" }) };
}

const namesOf = async (handler: Handler): Promise<readonly string[]> =>
  ((await (await get(handler, "/v1/models")).json()) as { data: { id: string }[] }).data.map(({ id }) => id);

test("a model is pulled with progress, used by its name, and deleted", async () => {
  const { hub, handler, client } = start();
  const statuses: string[] = [];
  for await (const { status, completed } of await client.pull({ model: "hub:fox", stream: true }))
    statuses.push(completed === undefined ? status : `${status} ${completed}`);
  expect(statuses).toEqual(["pulling manifest", "pulling hub:fox 10", "verifying sha256 digest", "writing manifest", "success"]);
  expect(await client.pull({ model: "hub:fox" })).toEqual({ status: "success" });
  expect(await namesOf(handler)).toEqual(["fable"]);
  expect((await post(handler, "/v1/completions", { ...base, model: "hub:fox" })).status).toBe(200);
  expect(await namesOf(handler)).toEqual(["fable", "hub:fox"]);
  await client.delete({ model: "hub:fox" });
  expect([hub.stored.size, await namesOf(handler)]).toEqual([0, ["fable"]]);
  await expect(client.delete({ model: "hub:fox" })).rejects.toThrow("expected a model that exists, got hub:fox");
  await handler.close();
});

test("a model that is being loaded or used is not deleted", async () => {
  const { hub, handler, client } = start();
  let allowLoading = (): void => undefined;
  hub.mayLoad = new Promise((resolve) => {
    allowLoading = resolve;
  });
  const answer = post(handler, "/v1/completions", { ...base, max_tokens: 100, stream: true, model: "hub:fox" });
  await expect.poll(() => hub.stored.size).toBe(1);
  const refusal = "expected a model that no request uses, got hub:fox";
  await expect(client.delete({ model: "hub:fox" })).rejects.toThrow(refusal);
  allowLoading();
  const response = await answer;
  expect(response.status).toBe(200);
  // Nobody reads the text yet.
  await expect(client.delete({ model: "hub:fox" })).rejects.toThrow(refusal);
  expect(await response.text()).toContain("[DONE]");
  expect(await namesOf(handler)).toEqual(["fable", "hub:fox"]);
  await client.delete({ model: "hub:fox" });
  await handler.close();
});

test("a model that does not exist leaves nothing, and no path of the server is told", async () => {
  const { handler, client } = start();
  const response = await post(handler, "/v1/completions", { ...base, model: "hub:owl" });
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: expect.objectContaining({ code: "model_not_found", message: "model: expected a model that exists, got hub:owl" }) },
  ]);
  expect([await namesOf(handler), (await get(handler, "/health")).status]).toEqual([["fable"], 200]);
  await expect(client.pull({ model: "hub:owl" })).rejects.toThrow("expected a model that exists");
  const lines = await (await post(handler, "/api/pull", { model: "hub:owl" })).text();
  expect(
    lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([{ status: "pulling manifest" }, { error: "model: expected a model that exists, got hub:owl" }]);
  const other = await post(handler, "/api/pull", { model: "/etc/passwd" });
  expect([other.status, await other.json()]).toEqual([
    404,
    { error: 'model: expected one of fable or a name such as hub:NAME, got "/etc/passwd"' },
  ]);
  await handler.close();
});

test("a client that leaves ends its download", async () => {
  const { hub, handler } = start();
  const { body } = await post(handler, "/api/pull", { model: "hub:endless" });
  const reader = body!.getReader();
  await reader.read();
  const next = reader.read();
  await expect.poll(() => hub.signal).toBeDefined();
  await reader.cancel();
  await next;
  expect(hub.signal!.aborted).toBe(true);
  const rest = await post(handler, "/api/pull", { model: "hub:endless" });
  await handler.close({ drainMs: 0 });
  expect(await rest.text()).toContain("the server is shutting down");
});

test("copies are further names until they are deleted", async () => {
  const { handler, client } = start();
  await client.copy({ source: "fable", destination: "story:small" });
  expect((await client.list()).models.map(({ name }) => name)).toEqual(["fable", "story:small"]);
  expect((await client.generate({ model: "story:small", prompt: "a", raw: true, options: { num_predict: 1 } })).done).toBe(true);
  await expect(client.copy({ source: "fable", destination: "story:small" })).rejects.toThrow("destination: expected a new name");
  await expect(client.copy({ source: "fable", destination: "../x" })).rejects.toThrow("destination: expected a name of letters");
  await expect(client.copy({ source: "owl", destination: "x" })).rejects.toThrow("model: expected one of fable, story:small or");
  await client.delete({ model: "story:small" });
  await expect(client.delete({ model: "fable" })).rejects.toThrow("expected one that was pulled or copied, got fable");
  expect((await client.list()).models).toHaveLength(1);
  await handler.close();
});

test("without a library, requests change nothing", async () => {
  const handler = served.handler();
  const client = new Ollama({ fetch: fetchFrom(handler), host: "http://localhost" });
  await expect(client.pull({ model: "hub:fox" })).rejects.toThrow(
    'model: expected one of fable, got "hub:fox"; this server pulls no models',
  );
  await expect(client.delete({ model: "fable" })).rejects.toThrow("/api/delete: expected a server whose models requests may change");
  await expect(client.copy({ source: "fable", destination: "b" })).rejects.toThrow("/api/copy: expected a server");
  expect((await post(handler, "/v1/completions", { ...base, model: "hub:fox" })).status).toBe(404);
});
