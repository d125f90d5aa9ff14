import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskStorage } from "@centella/gguf";
import { afterAll, expect, test } from "vitest";
import { serveHub } from "../../gguf/test/faultyHub.ts";
import { createLanguageModel, type LanguageModelOptions, type PromptTool } from "../src/index.ts";
import { contextLength, failureOf, openRuntime, tiny } from "./languageModels.ts";

const runtime = await openRuntime();
const LanguageModel = createLanguageModel({
  source: tiny,
  runtime,
  load: { contextLength },
  defaults: { maxTokens: 4 },
  languages: ["en", "es-MX"],
});
afterAll(() => LanguageModel.unload());
const image = new Blob();

test("a model is loaded once for all who wait, and reports its progress to each", async () => {
  expect(await LanguageModel.params()).toEqual({ defaultTopK: 40, maxTopK: 128, defaultTemperature: 0.8, maxTemperature: 2 });
  const reports: number[][] = [[], []];
  const creations = reports.map((report) =>
    LanguageModel.create({
      monitor(monitor) {
        monitor.addEventListener("downloadprogress", (event) => report.push((event as ProgressEvent).loaded));
        monitor.ondownloadprogress = (event: ProgressEvent) => expect([event.total, event.lengthComputable]).toEqual([1, true]);
      },
    }),
  );
  expect(await LanguageModel.availability()).toBe("downloading");
  await Promise.all(creations);
  for (const report of reports) {
    expect([report[0], report.at(-1)]).toEqual([0, 1]);
    expect(report.length).toBeGreaterThan(2);
    expect(report).toEqual([...new Set(report)].sort((a, b) => a - b));
  }
  expect(await LanguageModel.availability()).toBe("available");
  const late: number[] = [];
  const addEventListener = (monitor: EventTarget): void =>
    monitor.addEventListener("downloadprogress", (event) => late.push((event as ProgressEvent).loaded));
  await LanguageModel.create({ monitor: addEventListener });
  expect(late).toEqual([0, 1]);
  const failing = () => {
    throw new Error("the callback failed");
  };
  expect((await failureOf(LanguageModel.create({ monitor: failing }))).message).toBe("the callback failed");
  await LanguageModel.unload();
  expect(await LanguageModel.availability()).toBe("available");
  expect((await LanguageModel.create()).contextWindow).toBe(contextLength);
});

test("a remote model is downloaded once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "prompt-api-"));
  await using server = await serveHub({ "/model.gguf": await readFile(tiny) }, () => "none");
  try {
    const cache = await diskStorage(folder);
    const Remote = createLanguageModel({ source: new URL("/model.gguf", server.url), runtime, load: { contextLength, cache } });
    expect(await Remote.availability()).toBe("downloadable");
    const loaded: number[] = [];
    await Remote.create({
      monitor: (monitor) => monitor.addEventListener("downloadprogress", (event) => loaded.push((event as ProgressEvent).loaded)),
    });
    expect([loaded[0], loaded.at(-1)]).toEqual([0, 1]);
    expect(loaded).toEqual([...new Set(loaded)].sort((a, b) => a - b));
    await Remote.unload();
    expect(await Remote.availability()).toBe("available");
    const ranges = createLanguageModel({ source: new URL("/model.gguf", server.url), runtime, load: { cache: false } });
    expect(await ranges.availability()).toBe("downloadable");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a creation that is left does not end that of others, and the last one ends the work", async () => {
  const Own = createLanguageModel({ source: tiny, runtime, load: { contextLength } });
  const controller = new AbortController();
  const left = failureOf(Own.create({ signal: controller.signal }));
  const stays = Own.create();
  controller.abort(new Error("left"));
  expect((await left).message).toBe("left");
  expect((await stays).contextUsage).toBe(0);
  await Own.unload();
  expect(await failureOf(Own.create({ signal: AbortSignal.abort() }))).toMatchObject({ name: "AbortError" });
  const last = new AbortController();
  const ended = failureOf(Own.create({ signal: last.signal }));
  last.abort();
  expect(await ended).toMatchObject({ name: "AbortError" });
  // The next one starts over.
  expect((await Own.create()).contextUsage).toBe(0);
  await Own.unload();
});

test("sampling modes and values", async () => {
  const texts = await Promise.all(
    [1, 2].map(async () => (await LanguageModel.create({ samplingMode: "most-predictable" })).prompt("Tell me a story.")),
  );
  expect(texts[0]).toBe(texts[1]);
  const balanced = await LanguageModel.create();
  expect([balanced.samplingMode, balanced.topK, balanced.temperature]).toEqual(["balanced", 40, 0.8]);
  const own = await LanguageModel.create({ topK: 3.9, temperature: 0 });
  expect([own.topK, own.temperature]).toEqual([3, 0]);
  expect(await own.prompt("Tell me a story.")).toBe(texts[0]);
  const clamped = await LanguageModel.create({ topK: Number.POSITIVE_INFINITY, temperature: 9 });
  expect([clamped.topK, clamped.temperature]).toEqual([128, 2]);
});

test("what the model cannot do is unavailable", async () => {
  const text = (...languages: string[]) => [{ type: "text", languages }] as const;
  for (const expectedInputs of [text("en-GB", "es-mx"), [{ type: "tool-response" }] as const])
    expect(await LanguageModel.availability({ expectedInputs })).toBe("available");
  for (const options of [
    { expectedInputs: [{ type: "image" }] },
    { expectedInputs: [{ type: "audio" }] },
    { expectedOutputs: [{ type: "image" }] },
    { expectedInputs: text("ja") },
    { expectedOutputs: text("en", "es") },
  ] as const) {
    expect(await LanguageModel.availability(options)).toBe("unavailable");
    expect(await failureOf(LanguageModel.create(options))).toMatchObject({ name: "NotSupportedError" });
  }
});

test.each([
  ["an unknown mode", { samplingMode: "wild" as "creative" }, "TypeError"],
  ["a mode and values", { samplingMode: "creative", topK: 3 }, "TypeError"],
  ["no token to choose", { topK: 0 }, "RangeError"],
  ["a negative temperature", { temperature: -1 }, "RangeError"],
  ["a temperature that is none", { temperature: Number.NaN }, "TypeError"],
  ["an unknown type", { expectedInputs: [{ type: "smell" as "text" }] }, "TypeError"],
  ["a malformed language tag", { expectedInputs: [{ type: "text", languages: ["no_such"] }] }, "RangeError"],
  ["a tool without a function", { tools: [{ name: "feed", description: "", inputSchema: {} } as unknown as PromptTool] }, "TypeError"],
  ["a tool of a wrong name", { tools: [{ name: "a b", description: "", inputSchema: {}, execute: async () => "" }] }, "TypeError"],
  [
    "a late system message",
    {
      initialPrompts: [
        { role: "user", content: "" },
        { role: "system", content: "" },
      ],
    },
    "TypeError",
  ],
  ["an unknown role", { initialPrompts: [{ role: "fox" as "user", content: "" }] }, "TypeError"],
  ["no content", { initialPrompts: [{ role: "user" } as { role: "user"; content: string }] }, "TypeError"],
  ["a text that is none", { initialPrompts: [{ role: "user", content: [{ type: "text", value: 1 }] }] }, "TypeError"],
  ["an image", { initialPrompts: [{ role: "user", content: [{ type: "image", value: image }] }] }, "NotSupportedError"],
  ["an unknown content", { initialPrompts: [{ role: "user", content: [{ type: "smell" as "text", value: "" }] }] }, "TypeError"],
  ["the user's prefix", { initialPrompts: [{ role: "user", content: "", prefix: true }] }, "SyntaxError"],
] as const)("%s is refused", async (_, options, name) => {
  expect((await failureOf(LanguageModel.create(options))).name).toBe(name);
});

test("messages are checked in every call", async () => {
  const session = await LanguageModel.create();
  await session.append("Hello!");
  const system = [{ role: "system", content: "Be brief." }] as const;
  const audio = [{ role: "user", content: [{ type: "audio", value: image }] }] as const;
  const early = [
    { role: "assistant", content: "", prefix: true },
    { role: "user", content: "" },
  ] as const;
  for (const [input, name] of [
    [system, "TypeError"],
    [audio, "NotSupportedError"],
    [early, "SyntaxError"],
  ] as const) {
    for (const call of [session.prompt(input), session.append(input), session.measureContextUsage(input)])
      expect((await failureOf(call)).name).toBe(name);
    await expect(session.promptStreaming(input).getReader().read()).rejects.toThrow(expect.objectContaining({ name }));
  }
  // A system message at the beginning of a session is an initial prompt.
  expect(await (await LanguageModel.create()).append(system)).toBeUndefined();
  expect(await session.prompt({ toString: () => "Bye!" } as string)).not.toBe("");
});

test("models that cannot be loaded", async () => {
  const bytes = createLanguageModel({ source: new Uint8Array(64), runtime });
  expect(await bytes.availability()).toBe("available");
  expect(await failureOf(bytes.create())).toMatchObject({ name: "OperationError", cause: { code: "not-gguf" } });
  const remote = createLanguageModel({ source: "http://localhost:9/model.gguf", runtime });
  expect(await remote.availability()).toBe("downloadable");
  expect(await failureOf(remote.create())).toMatchObject({ name: "NetworkError" });
  const file = await readFile(tiny);
  const stored = createLanguageModel({ source: new Blob([file]), runtime, load: { contextLength } });
  expect((await stored.create()).contextWindow).toBe(contextLength);
  await stored.unload();
  const error = await failureOf((await LanguageModel.create()).prompt("x", { responseConstraint: { type: 1 } }));
  expect(error).toBeInstanceOf(TypeError);
});

test("options of the factory are checked, and sessions are not constructed", () => {
  const create = (options: object) => () => createLanguageModel(options as LanguageModelOptions);
  expect(create({ source: tiny })).toThrow(/expected one of model, runtime and worker, got none/);
  expect(create({ source: tiny, runtime, model: {} })).toThrow(/got model and runtime/);
  expect(create({ runtime })).toThrow(/expected a source to load/);
  expect(create({ source: tiny, runtime, size: 1 })).toThrow(/size/);
  expect(create({ source: tiny, runtime, defaults: { format: "json" } })).toThrow(/format/);
  const Constructor = LanguageModel as unknown as new () => unknown;
  expect(() => new Constructor()).toThrow(TypeError);
});
