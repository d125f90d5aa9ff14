import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { BatchProgress } from "../src/batch/batchProgress.ts";
import { type BatchRequest, readRequest } from "../src/batch/batchRequest.ts";
import { linesOf } from "../src/batch/lines.ts";
import { RequestWindow, windowsOf } from "../src/batch/requestWindow.ts";
import { type BatchResult, openResults } from "../src/batch/resultFile.ts";
import { batch } from "../src/commands/batch.ts";
import { Output } from "../src/output.ts";
import { bin, centella, tiny } from "./centella.ts";
import { parse } from "./parse.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Answer extends BatchResult {
  readonly response: BatchResult["response"] & {
    readonly body: {
      readonly object?: string;
      readonly choices?: readonly { readonly text?: string }[];
      readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } };
    };
  };
}

function answersIn(path: string): readonly Answer[] {
  const text = readFileSync(path, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
}

/** Runs the command in this process, with a terminal as stderr. `onStatus` is called with what is written there. */
async function run(
  args: readonly string[],
  onStatus: (text: string) => void = () => undefined,
  signal = new AbortController().signal,
): Promise<string> {
  let last = "";
  const stderr = {
    isTTY: true,
    write(text: string) {
      last = text;
      onStatus(text);
    },
  };
  const output = new Output({ write: () => true }, stderr, { quiet: false, verbose: false });
  const { values, positionals } = await parse(batch.options, ...args, tiny, "--backend", "wasm", "--threads", "1", "-c", "512");
  await batch.run(values, positionals, { signal, output });
  return last;
}

function request(line: number, text: string): BatchRequest {
  return { line, customId: `r${line}`, url: "/v1/completions", body: {}, text };
}

const completion = (id: string, prompt: string, more: object = {}): string =>
  JSON.stringify({ custom_id: id, method: "POST", url: "/v1/completions", body: { prompt, max_tokens: 2, temperature: 0, ...more } });

test("lines are numbered, and a line that is too long is not held in memory", async () => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const part of ["a", "b\n\n1234", "56", "78\nlast é"]) yield new TextEncoder().encode(part);
  }
  const lines = [];
  for await (const { number, text } of linesOf(bytes(), 7)) lines.push([number, text]);
  expect(lines).toEqual([
    [1, "ab"],
    [2, ""],
    [3, undefined],
    [4, "last é"],
  ]);
});

test("bad lines are named by what is wrong", () => {
  const problem = (text: string | undefined): unknown => readRequest({ number: 3, text }, 9);
  const good = { custom_id: "a", url: "/v1/completions", body: { prompt: "x" } };
  const wrong = (fields: object): unknown => problem(JSON.stringify({ ...good, ...fields }));
  expect(problem(" ")).toBeUndefined();
  expect(problem(undefined)).toEqual({ line: 3, problem: "expected at most 9 bytes, got more" });
  expect(problem("{")).toEqual({ line: 3, problem: expect.stringMatching(/^expected JSON, got/) });
  expect(problem("[]")).toEqual({ line: 3, problem: "expected a JSON object, got []" });
  expect(wrong({ custom_id: 1 })).toEqual({ line: 3, problem: "custom_id: expected a text, got 1" });
  expect(wrong({ method: "GET" })).toEqual({ line: 3, customId: "a", problem: 'method: expected "POST", got "GET"' });
  expect(wrong({ url: "/models/unload" })).toEqual({ line: 3, customId: "a", problem: expect.stringContaining('got "/models/unload"') });
  expect(wrong({ body: undefined })).toEqual({ line: 3, customId: "a", problem: "body: expected an object, got nothing" });
  expect(wrong({ body: { stream: true } })).toEqual({
    line: 3,
    customId: "a",
    problem: expect.stringMatching(/^body\.stream: expected false/),
  });
  expect(wrong({})).toEqual({ line: 3, customId: "a", url: good.url, body: good.body, text: "/v1/completions\nx" });
});

test("requests with equal beginnings follow the first of them, once its beginning is computed", () => {
  const [a, b] = ["a".repeat(300), "b".repeat(300)];
  const window = new RequestWindow([request(1, `${b}1`), request(2, `${a}1`), request(3, `${b}2`), request(4, `${a}2`), request(5, "c")]);
  const take = () => window.take();
  const first = take()!;
  expect([first, take(), take(), take()].map((turn) => turn?.request.line)).toEqual([2, 1, 5, undefined]);
  first.end();
  expect([take(), take()].map((turn) => turn?.request.line)).toEqual([4, undefined]);
  expect(window.isEmpty).toBe(false);
});

test("no more of a large file is read ahead than a window holds", async () => {
  let read = 0;
  async function* requests(length: number): AsyncGenerator<BatchRequest> {
    for (;;) yield request(++read, "x".repeat(length));
  }
  for await (const window of windowsOf(requests(1))) {
    if (read === 2048) break;
    expect([read, window.isEmpty]).toEqual([1024, false]);
  }
  read = 0;
  for await (const _ of windowsOf(requests(2 ** 20))) break;
  expect(read).toBe(16);
});

test("results are continued after a line that was cut off, and only those of the same input", async () => {
  const path = join(folder, "resume.jsonl");
  const result = (line: number): BatchResult => ({
    id: `batch-${line}`,
    custom_id: `r${line}`,
    response: { status_code: 200, request_id: "x", body: {} },
    error: null,
  });
  const output = new Output({ write: () => true }, { write: () => true }, { quiet: true, verbose: false });
  const started = await openResults(path, false, output);
  await Promise.all([1, 5000].map((line) => started.append(result(line))));
  await started.close();
  writeFileSync(path, JSON.stringify(result(7)).slice(0, 30), { flag: "a" });
  await expect(openResults(path, false, output)).rejects.toThrow(/which exists; pass --resume/);
  const resumed = await openResults(path, true, output);
  expect([1, 2, 7, 5000, 100_000].map((line) => resumed.has(request(line, "")))).toEqual([true, false, false, true, false]);
  expect(() => resumed.has({ ...request(1, ""), customId: "other" })).toThrow(/line 1 have another custom_id/);
  await resumed.append(result(7));
  await resumed.close();
  expect(answersIn(path).map(({ id }) => id)).toEqual(["batch-1", "batch-5000", "batch-7"]);
  writeFileSync(path, "no result\n");
  await expect(openResults(path, true, output)).rejects.toThrow(/got another text in line 1/);
  await expect(openResults("-", true, output)).rejects.toThrow(/got - \(stdout\)/);
});

test("lines that are written at the same time share a write, and one that fails fails them all", async () => {
  const path = join(folder, "writes.jsonl");
  const output = new Output({ write: () => true }, { write: () => true }, { quiet: true, verbose: false });
  const probe = await open(join(folder, "probe"), "ax");
  const write = vi.spyOn(Object.getPrototypeOf(probe) as typeof probe, "appendFile");
  await probe.close();
  onTestFinished(() => write.mockRestore());
  const results = await openResults(path, false, output);
  const append = (line: number): Promise<void> =>
    results.append({ id: `batch-${line}`, custom_id: `r${line}`, response: null, error: { code: "x", message: "y" } });
  await Promise.all([1, 2].map(append));
  await append(3);
  expect(write).toHaveBeenCalledTimes(2);
  expect(answersIn(path).map(({ id }) => id)).toEqual(["batch-1", "batch-2", "batch-3"]);
  write.mockRejectedValueOnce(new Error("disk full"));
  const failed = await Promise.allSettled([4, 5].map(append));
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await results.close();
});

test("in a log, progress is a line each ten seconds at most, and none with --quiet", () => {
  for (const quiet of [false, true]) {
    let seconds = 5;
    const lines: string[] = [];
    const output = new Output({ write: () => true }, { write: (text) => lines.push(text) }, { quiet, verbose: false });
    const progress = new BatchProgress(output, () => 1000 * seconds);
    const body = { usage: { prompt_tokens: 3, completion_tokens: 2 } };
    for (seconds of [6, 14, 15, 20, 24, 26])
      progress.answer({ id: "batch-1", custom_id: "a", response: { status_code: 200, request_id: "x", body }, error: null });
    progress.end();
    const line = (requests: number, time: number): string =>
      `${requests} requests answered, ${3 * requests} prompt and ${2 * requests} generated tokens in ${time}.0 s, ${Math.round((5 * requests) / time)} tokens/s\n`;
    expect(lines).toEqual(quiet ? [] : [line(3, 10), line(6, 21), line(6, 21)]);
  }
});

test("every route is answered, and errors and bad lines are reported without ending the batch", async () => {
  const [input, results] = [join(folder, "mixed.jsonl"), join(folder, "mixed-results.jsonl")];
  const lines = [
    completion("text", "The fox"),
    JSON.stringify({
      custom_id: "chat",
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "story", messages: [{ role: "user", content: "Hello" }], max_tokens: 2 },
    }),
    "{broken",
    JSON.stringify({ custom_id: "vector", url: "/v1/embeddings", body: { input: "a fox" } }),
    completion("unknown model", "x", { model: "gpt-4o" }),
    JSON.stringify({ custom_id: "unknown route", url: "/v1/nothing", body: {} }),
    completion("stream", "x", { stream: true }),
    JSON.stringify({ custom_id: "no path", url: "https://example.com/v1/completions", body: {} }),
    JSON.stringify({ url: "/v1/completions", body: { prompt: "x" } }),
  ];
  writeFileSync(input, lines.join("\n"));
  const { code, stdout, stderr } = await centella([
    "batch",
    "-i",
    input,
    "-o",
    results,
    tiny,
    "--alias",
    "story",
    "--json",
    "--backend",
    "wasm",
  ]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ requests: 7, failed: 4, badLines: 2, generatedTokens: 4 });
  const bad = [`${input}:3: expected JSON, got .*`, `${input}:9: custom_id: expected a text, got nothing`];
  const last = "batch: .* got 4 errors and 2 bad lines";
  expect(stderr).toMatch(new RegExp(`^${[...bad, last].map((line) => `centella: ${line}\n`).join("")}$`));
  const answers = new Map(answersIn(results).map((answer) => [answer.custom_id, answer]));
  expect([...answers.keys()].sort()).toEqual(["chat", "no path", "stream", "text", "unknown model", "unknown route", "vector"]);
  expect(answers.get("text")).toMatchObject({
    id: "batch-1",
    response: { status_code: 200, request_id: expect.any(String), body: { object: "text_completion", usage: { completion_tokens: 2 } } },
    error: null,
  });
  expect(answers.get("chat")!.response.body.object).toBe("chat.completion");
  expect(answers.get("vector")!.response.body.object).toBe("list");
  expect(answers.get("unknown model")).toMatchObject({ response: { status_code: 404 }, error: { code: "model_not_found" } });
  expect(answers.get("unknown route")).toMatchObject({ response: { status_code: 404 }, error: { code: "not_found" } });
  expect(answers.get("stream")).toEqual({
    id: "batch-7",
    custom_id: "stream",
    response: null,
    error: { code: "invalid_value", message: "body.stream: expected false in a batch, got true; leave it out" },
  });
  expect(answers.get("no path")).toMatchObject({
    id: "batch-8",
    response: null,
    error: { message: expect.stringMatching(/^url: expected/) },
  });
});

test("a batch that was interrupted goes on, with shared beginnings computed once, and the same answers", async () => {
  const [input, results, whole] = ["many", "many-results", "whole-results"].map((name) => join(folder, `${name}.jsonl`)) as [
    string,
    string,
    string,
  ];
  const beginning = (i: number): string => `${"Once upon a time there was a fox in the forest. ".repeat(10)}${i % 2 === 0 ? "A" : "B"} `;
  writeFileSync(input, Array.from({ length: 12 }, (_, i) => completion(`r${i}`, `${beginning(i)}${i}`)).join("\n"));
  await run(["-i", input, "-o", whole, "--sequences", "2"]);
  const all = answersIn(whole);
  expect(all.filter(({ response }) => response.body.usage.prompt_tokens_details.cached_tokens === 0)).toHaveLength(1);

  const interrupt = new AbortController();
  const stop = (text: string): void => {
    if (text.includes("3 requests answered")) interrupt.abort();
  };
  await expect(run(["-i", input, "-o", results, "--sequences", "2"], stop, interrupt.signal)).rejects.toThrow();
  const before = answersIn(results);
  expect(before.length).toBeGreaterThanOrEqual(3);
  expect(before.length).toBeLessThan(12);
  const last = await run(["-i", input, "-o", results, "--sequences", "2", "--resume"]);
  expect(last).toMatch(new RegExp(`^${12 - before.length} requests answered, ${before.length} answered before, .* tokens/s\n$`));
  const texts = (answers: readonly Answer[]): readonly (readonly unknown[])[] =>
    answers.map(({ custom_id: id, response }) => [id, response.body.choices![0]!.text]).sort();
  const resumed = answersIn(results);
  expect(resumed.slice(0, before.length)).toEqual(before);
  expect(texts(resumed)).toEqual(texts(all));
});

test("requests leave no listeners on the signal of the command", async () => {
  const input = join(folder, "listeners.jsonl");
  writeFileSync(input, Array.from({ length: 20 }, (_, i) => completion(`r${i}`, `Story ${i}`)).join("\n"));
  const { signal } = new AbortController();
  const counts: number[] = [];
  const count = (): void => void counts.push(getEventListeners(signal, "abort").length);
  await run(["-i", input, "-o", join(folder, "listeners-results.jsonl"), "--sequences", "2"], count, signal);
  // Four requests are open at the same time, and the input listens, too.
  expect(Math.max(...counts)).toBeLessThan(10);
  expect(counts.length).toBeGreaterThanOrEqual(20);
});

/** Ends the process without a warning while the third of its writes is under way. */
const killInWrite = `const files = require("node:fs/promises");
const { open } = files;
let writes = 0;
files.open = async (...args) => {
  const file = await open(...args);
  const { appendFile } = file;
  file.appendFile = async (text) => {
    if (++writes < 3) return appendFile.call(file, text);
    await appendFile.call(file, text.slice(0, -2));
    process.kill(process.pid, "SIGKILL");
  };
  return file;
};`;

test("a batch whose process was killed in the middle of a line goes on without a lost or repeated line", async () => {
  const [input, results, preload] = [join(folder, "killed.jsonl"), join(folder, "killed-results.jsonl"), join(folder, "killInWrite.cjs")];
  const ids = Array.from({ length: 40 }, (_, i) => `r${i}`);
  writeFileSync(input, ids.map((id) => completion(id, `Story ${id}`)).join("\n"));
  writeFileSync(preload, killInWrite);
  const args = ["batch", "-i", input, "-o", results, tiny, "--backend", "wasm", "--sequences", "2"];
  const killed = spawn(process.execPath, ["--require", preload, bin, ...args], { stdio: "ignore" });
  expect(await once(killed, "close")).toEqual([null, "SIGKILL"]);
  const text = readFileSync(results, "utf8");
  expect(text.endsWith("\n")).toBe(false);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  expect(await centella([...args, "--resume"])).toMatchObject({ code: 0, stdout: "" });
  expect(readFileSync(results, "utf8").startsWith(whole)).toBe(true);
  const answers = answersIn(results);
  expect(answers.map(({ custom_id: id }) => id).sort()).toEqual(ids.toSorted());
  expect(answers.every(({ id, custom_id, error }) => id === `batch-${ids.indexOf(custom_id) + 1}` && error === null)).toBe(true);
});

test("an input that does not end is left when the command is interrupted", async () => {
  const results = join(folder, "endless-results.jsonl");
  const child = spawn(process.execPath, [bin, "batch", "-i", "-", "-o", results, tiny, "--backend", "wasm"], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stderr.on("data", (text) => {
    if (String(text).includes("stdin:1: expected JSON")) child.kill("SIGINT");
  });
  child.stdin.write("{broken\n");
  expect(await once(child, "close")).toEqual([130, null]);
  expect(readFileSync(results, "utf8")).toBe("");
});

test("requests come from stdin, are computed on two devices, and results go to stdout", async () => {
  const { code, stdout } = await centella(["batch", "-i", "-", "-o", "-", tiny, "--backend", "wasm", "--devices", "0,1", "-c", "128"], {
    input: completion("one", "The fox"),
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id: "batch-1", custom_id: "one", error: null });
});
