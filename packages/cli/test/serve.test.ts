import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serve } from "../src/commands/serve.ts";
import { canonicalArguments } from "../src/options.ts";
import { optionsOf } from "../src/program.ts";
import { openDevices } from "../src/serve/devices.ts";
import { type Loading, servedModels } from "../src/serve/servedModels.ts";
import { readHandler, readListener, readMetrics, serveOptions } from "../src/serve/serveOptions.ts";
import { bin, centella, expectOneLine, tiny } from "./centella.ts";
import { parse } from "./parse.ts";

const chat = { messages: [{ role: "user", content: "Tell me a story." }], ignore_eos: true };

/** A server in a process of its own. */
async function start(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bin, "serve", ...args, "--port", "0", "--backend", "wasm", "--threads", "1"], {
    env: { ...process.env, CENTELLA_BACKEND: "", ...env },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  const url = /^listening on (http:\S+)\n$/.exec(line)![1]!;
  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url + path, { method: "POST", body: JSON.stringify(body), headers });
  while (!(await fetch(`${url}/health`)).ok) await new Promise((resolve) => setTimeout(resolve, 20));
  return { child, url, post, ended, stderr: () => stderr };
}

test("it serves with llama-server's options, and SIGTERM lets streams finish", async () => {
  const args = [
    tiny,
    "--alias",
    "story",
    "--ctx-size",
    "512",
    "-np",
    "2",
    "--temp",
    "0",
    "--n-predict",
    "3",
    "--embedding",
    "--rerank",
    "--metrics",
    "--log",
  ];
  const server = await start(args, { CENTELLA_API_KEYS: "ci:secret" });
  const authorization = { authorization: "Bearer secret" };
  expect((await server.post("/v1/chat/completions", chat)).status).toBe(401);
  const answers = await Promise.all([1, 2].map(() => server.post("/v1/chat/completions", { ...chat, model: "story" }, authorization)));
  const [first, second] = (await Promise.all(answers.map((answer) => answer.json()))) as { choices: object[]; usage: object }[];
  expect(first).toMatchObject({ model: "story", usage: { completion_tokens: 3 } });
  // The default temperature is that of the command line.
  expect(second!.choices).toEqual(first!.choices);
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: authorization })).text();
  expect(metrics).toContain('centella:texts_total{model="story",route="/v1/chat/completions",finish="length"} 2');

  const stream = await server.post("/v1/chat/completions", { ...chat, max_tokens: 200, stream: true }, authorization);
  server.child.kill("SIGTERM");
  expect(await stream.text()).toMatch(/"finish_reason":"length".*\[DONE\]/s);
  expect(await server.ended).toBe(0);
  const events = server
    .stderr()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; key?: string });
  expect(events.map(({ type }) => type)).toContain("finished");
  expect(events.find(({ key }) => key === "ci")).toMatchObject({ type: "response", status: 200, time: expect.any(String) });
  expect(server.stderr()).not.toMatch(/secret|story\.|Tell/);
});

test("a second signal ends it at once, although a client does not read its stream", async ({ skip }) => {
  skip(process.platform === "win32", "Windows has no signals");
  const server = await start([tiny, "--alias", "story", "--log", "--ctx-size", "512"]);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on("error", () => undefined);
  // More than the buffers of both ends hold.
  const body = JSON.stringify({ ...chat, max_tokens: 450, n: 8, logprobs: true, top_logprobs: 20, stream: true });
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await expect.poll(() => server.stderr()).toContain('"type":"dequeued"');
  server.child.kill("SIGTERM");
  await expect.poll(async () => await (await fetch(`${server.url}/health`)).json()).toMatchObject({ status: "draining" });
  server.child.kill("SIGTERM");
  expect([143, "SIGTERM"]).toContain(await server.ended);
  socket.destroy();
});

test("it prints where it listens", async () => {
  const { stdout, code } = await centella(["serve", tiny, "--lazy", "--port", "0", "--json"], { interruptAfter: /\n/ });
  expect(JSON.parse(stdout)).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
  expect(code).toBe(0);
});

test("a lazy model that cannot be loaded does not end it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  writeFileSync(join(folder, "broken.gguf"), "no model");
  const server = await start([tiny, "--alias", "story", "--models-dir", folder]);
  expect((await server.post("/v1/chat/completions", { ...chat, model: "broken", max_tokens: 1 })).status).toBe(503);
  expect((await server.post("/v1/chat/completions", { ...chat, model: "story", max_tokens: 1 })).status).toBe(200);
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  rmSync(folder, { recursive: true });
});

test("a model that cannot be loaded ends it", async () => {
  expectOneLine(await centella(["serve", "missing.gguf", "--port", "0"]), /missing\.gguf/);
});

test("another host without keys is refused", async () => {
  expectOneLine(
    await centella(["serve", "--host", "0.0.0.0", "--port", "0"]),
    /^centella: --host: expected --api-key with a host that others can reach, got 0\.0\.0\.0/,
    2,
  );
});

test("options become those of the server", async () => {
  const line =
    "--api-key a,me:b --queue-timeout 2 --max-body 1 --metrics-names vllm --temp 0 -n 5 --mirostat 1 --cors-origins https://a.example --no-auth";
  const { values } = await parse(serveOptions, ...line.split(" "));
  expect(readHandler(values, "c")).toEqual({
    keys: [{ key: "a" }, { name: "me", key: "b" }, { key: "c" }],
    corsOrigins: ["https://a.example"],
    queueTimeoutMs: 2000,
    maxBody: 2 ** 20,
    defaults: { temperature: 0, maxTokens: 5, mirostat: 1 },
  });
  expect(readMetrics(values)).toEqual(["vllm"]);
  expect(readListener(values)).toEqual({ isOpen: true });
  expect(() => readMetrics({ "metrics-names": [["mine"]] })).toThrow(
    "--metrics-names: expected some of centella, vllm, llamacpp, got mine",
  );
});

test("keys have limits of their own", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "centella-")), "keys");
  writeFileSync(file, "me:second max-context=64\n");
  const { values } = await parse(serveOptions, "--api-key", "a max-requests=2  max-tokens=5,b", "--api-key-file", file);
  expect(readHandler(values, "c max-tokens=1").keys).toEqual([
    { key: "a", maxRequests: 2, maxTokens: 5 },
    { key: "b" },
    { name: "me", key: "second", maxContext: 64 },
    { key: "c", maxTokens: 1 },
  ]);
  for (const wrong of ["max-tokens=0", "max-tokens", "most=1", "max-tokens=1e3"])
    expect(() => readHandler({ "api-key": [[`secret ${wrong}`]] }, undefined)).toThrow(
      "--api-key: expected max-requests=N, max-tokens=N, max-context=N after a key and a space, got another text",
    );
});

test("models have names", () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  for (const name of ["b.gguf", "a-00001-of-00002.gguf", "a-00002-of-00002.gguf"]) copyFileSync(tiny, join(folder, name));
  const given = { files: ["x/one.gguf", "two=y.gguf"], folder, alias: undefined, isLazy: false, adapters: [] };
  const loading: Loading = { options: {}, load: undefined as never, idleMs: 5, everywhere: [] };
  const models = servedModels(given, loading);
  expect(Object.entries(models).map(([name, { isLazy }]) => [name, isLazy])).toEqual([
    ["one", false],
    ["two", false],
    ["a", true],
    ["b", true],
  ]);
  expect(Object.keys(servedModels({ ...given, files: [], folder: undefined }, loading))).toEqual(["fable"]);
  expect(Object.keys(servedModels({ ...given, folder: undefined, alias: "z" }, loading))).toEqual(["z", "two"]);
  expect(() => servedModels({ ...given, files: ["b.gguf"] }, loading)).toThrow("two of the name b; write NAME=FILE");
  rmSync(folder, { recursive: true });
});

test("models of several devices are computed by engines in workers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  const sizes = ["--devices", "0,1", "--sequences", "1", "-c", "256"];
  const server = await start([tiny, "--alias", "story", ...sizes, "--temp", "0", "--metrics", "--slot-save-path", folder]);
  const ask = (content: string): Promise<Response> =>
    server.post("/v1/chat/completions", { messages: [{ role: "user", content }], ignore_eos: true, max_tokens: 20, logprobs: true });
  const answers = await Promise.all(["Hello", "Hello", "The fox"].map(async (content) => (await ask(content)).json()));
  const [first, second] = answers as { choices: object[] }[];
  expect(second!.choices).toEqual(first!.choices);
  expect(await (await fetch(`${server.url}/props`)).json()).toMatchObject({ total_slots: 2, chat_template: expect.stringContaining("{%") });
  const tokens = { content: "The fox" };
  const { tokens: ids } = (await (await server.post("/tokenize", tokens)).json()) as { tokens: number[] };
  expect(await (await server.post("/detokenize", { tokens: ids })).json()).toEqual({ content: "The fox" });
  expect((await server.post("/completion", { prompt: "The fox", n_predict: 4, id_slot: 1 })).status).toBe(200);
  const saved = (await (await server.post("/slots/1?action=save", { filename: "fox" })).json()) as { n_saved: number };
  expect(await (await server.post("/slots/0?action=restore", { filename: "fox" })).json()).toMatchObject({ n_restored: saved.n_saved });
  expect(saved.n_saved).toBeGreaterThan(4);
  // Two engines of 8 blocks.
  expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('num_gpu_blocks="16"} 1');
  const stream = await server.post("/v1/chat/completions", { ...chat, max_tokens: 100, stream: true });
  server.child.kill("SIGTERM");
  expect(await stream.text()).toMatch(/"finish_reason":"length".*\[DONE\]/s);
  expect(await server.ended).toBe(0);
  rmSync(folder, { recursive: true });
});

test.each([
  ["--devices a", /--devices: expected numbers such as 0,1, got a/],
  ["--devices 0,0", /--devices: expected different devices, got 0,0/],
  ["--devices 0 --backend webgpu", /--devices: expected cuda, or a backend on the CPU, got webgpu/],
])("%s is refused", async (line, message) => {
  const { values } = await parse(serveOptions, ...line.split(" ")).catch((error: Error) => ({ values: error }));
  expect(() => {
    if (values instanceof Error) throw values;
    openDevices(values);
  }).toThrow(message);
});

test("a time that no timer can hold is refused", async () => {
  expectOneLine(
    await centella(["serve", tiny, "--idle-timeout", "2147484"]),
    /--idle-timeout: expected a number from 0 to 2147483, got/,
    2,
  );
});

test("llama-server's common options are accepted, and those without a counterpart refused by name", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "centella-")), "keys");
  writeFileSync(file, "first\nme:second\n");
  const line =
    `--ctx-size 64 --parallel 2 --n-predict 5 --alias a --embedding --reranking --pooling cls --lora x.gguf --seed 1 --temp 0 --slots ` +
    `--slot-save-path s --api-key k --api-key-file ${file}`;
  const { values } = await parse(serveOptions, ...line.split(" "));
  expect(values).toMatchObject({ context: 64, sequences: 2, tokens: 5, alias: "a", lora: [{ source: "x.gguf" }], "slot-save-path": "s" });
  expect(readHandler(values, undefined)).toEqual({
    keys: [{ key: "k" }, { key: "first" }, { name: "me", key: "second" }],
    pooling: "cls",
    defaults: { temperature: 0, seed: 1, maxTokens: 5 },
  });
  expect(readHandler({ pooling: "rank" }, undefined)).not.toHaveProperty("pooling");
  rmSync(file);
  const refused =
    (...args: string[]) =>
    () =>
      canonicalArguments(optionsOf(serve), args, serve.refused);
  expect(refused("--alias", "--mlock")).not.toThrow();
  expect(refused("a.gguf", "--mlock")).toThrow("--mlock: expected an option with a counterpart here, got one without; leave it out");
  expect(refused("-ctk", "q8_0")).toThrow(/^-ctk: .* use --cache-type$/);
  expect(refused("--ssl-key-file=x")).toThrow(/^--ssl-key-file: .* use a reverse proxy for TLS$/);
  const options = optionsOf(serve);
  const known = Object.entries(options).flatMap(([name, { short, aliases = [] }]) => [`--${name}`, `-${short}`, ...aliases]);
  expect(Object.keys(serve.refused!).filter((name) => known.includes(name))).toEqual([]);
  const named = Object.values(serve.refused!).flatMap((instead) => [...instead.matchAll(/--[a-z][a-z-]+/g)].map(([name]) => name));
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});
