import { wasm } from "@centella/backend-wasm";
import { ArgumentError, createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Markup } from "../src/format/markup.ts";
import { type GenerateOptions, type GenerationPart, loadModel, type Model, type RunPart, type Session, type Tool } from "../src/index.ts";
import { argumentFamily } from "../src/tools/arguments/argumentFamilies.ts";
import { resolved } from "../src/tools/arguments/schemaParts.ts";
import { tiny } from "./modelFiles.ts";

let runtime: Runtime;
let model: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } });
  model = await loadModel(tiny, { runtime, contextLength: 1024, sequences: 8, batchSize: 256 });
});
afterAll(async () => {
  await model.dispose();
  await runtime.dispose();
});

const weather = {
  name: "get_weather",
  description: "Weather of a city.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string", minLength: 1, maxLength: 8 }, days: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["city", "days"],
    additionalProperties: false,
  },
} satisfies Tool;
const time = {
  name: "now",
  inputSchema: { type: "object", properties: { zone: { enum: ["utc", "local"] } }, required: ["zone"], additionalProperties: false },
} satisfies Tool;
const tools = [weather, time];

async function partsOf<P>(parts: AsyncIterable<P>): Promise<P[]> {
  const all: P[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

test("the storyteller's template knows no tools, so that calls are JSON in tags", async () => {
  expect(await model.toolFormat).toMatchObject({ name: "hermes", template: { calls: "none", tools: undefined } });
});

describe("a call that is required", () => {
  const formats = [undefined, "granite", "lfm2", "llama-4"] as const;
  test.each(formats)("in the format %s, at temperature 2", async (toolFormat) => {
    const ajv = new Ajv2020();
    const finishes = await Promise.all(
      Array.from({ length: 12 }, (_, seed) =>
        model.createSession().complete("Weather?", {
          tools,
          toolChoice: "required",
          temperature: 2,
          seed,
          maxTokens: 300,
          parallelToolCalls: seed % 2 === 0,
          toolFormat,
        }),
      ),
    );
    for (const { reason, toolCalls = [], text } of finishes) {
      if (reason === "length") continue;
      expect({ reason, text }).toEqual({ reason: "toolCalls", text: "" });
      for (const call of toolCalls) {
        const tool = tools.find(({ name }) => name === call.name);
        expect(ajv.validate(tool?.inputSchema ?? false, call.arguments), JSON.stringify(call)).toBe(true);
      }
      expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(toolCalls.length);
    }
    expect(finishes.filter(({ reason }) => reason === "toolCalls").length).toBeGreaterThan(3);
    expect(finishes.every(({ toolCalls = [] }, seed) => seed % 2 === 0 || toolCalls.length <= 1)).toBe(true);
  });

  test("comes in parts that add up to the finish, and the session keeps it", async () => {
    const session = model.createSession();
    const parts = await partsOf<GenerationPart>(
      session.generate("Weather?", {
        tools,
        toolChoice: { name: "get_weather" },
        temperature: 0,
        maxTokens: 300,
        parallelToolCalls: false,
      }),
    );
    const pieces = parts.filter((part) => part.type === "toolCall");
    const finish = parts.at(-1);
    if (finish?.type !== "finish") throw new Error("no finish");
    const [call] = finish.toolCalls ?? [];
    expect(JSON.parse(pieces.map(({ argumentsDelta }) => argumentsDelta).join(""))).toEqual(call?.arguments);
    expect(pieces.map(({ isFirst }) => isFirst)).toEqual(pieces.map((_, i) => i === 0));
    expect(pieces.map(({ isLast }) => isLast)).toEqual(pieces.map((_, i) => i === pieces.length - 1));
    expect(pieces.every(({ id, name, index }) => id === "call00000" && name === "get_weather" && index === 0)).toBe(true);
    const ids = pieces.flatMap((piece) => piece.ids);
    expect(ids).toEqual(finish.ids.slice(0, ids.length));
    expect(session.messages.at(-1)).toEqual({
      role: "assistant",
      content: "",
      tool_calls: [{ id: "call00000", type: "function", function: { name: "get_weather", arguments: call?.arguments } }],
    });
    const after = await session.complete([{ role: "tool", tool_call_id: "call00000", name: "get_weather", content: "Rain." }], {
      maxTokens: 5,
    });
    expect(after.text).not.toBe("");
  });
});

test("text may be free, and calls are refused by the choice none", async () => {
  const options: GenerateOptions = { tools, temperature: 0, maxTokens: 20 };
  const auto = await model.createSession().complete("Hello", options);
  const none = await model.createSession().complete("Hello", { ...options, toolChoice: "none" });
  expect(auto.text).not.toBe("");
  expect(auto.text).toBe(none.text);
  expect(auto).not.toHaveProperty("toolCalls");
  const format = { choice: ["yes", "no"] };
  const either = await Promise.all(
    Array.from({ length: 10 }, (_, seed) =>
      model.createSession().complete("Hello", { tools, format, temperature: 2, seed, maxTokens: 300 }),
    ),
  );
  for (const { text, toolCalls, complete } of either)
    expect(toolCalls === undefined && complete ? ["yes", "no"].includes(text) : true).toBe(true);
});

test("a description of a format can be given, and a wrong one is refused", async () => {
  const toolFormat = await model.toolFormat;
  const options: GenerateOptions = { tools: [time], toolChoice: "required", parallelToolCalls: false, temperature: 0, maxTokens: 200 };
  const found = await model.createSession().complete("Now?", options);
  const given = await model.createSession().complete("Now?", { ...options, toolFormat });
  expect(given.ids).toEqual(found.ids);
  const wrong = model
    .createSession()
    .complete("Now?", { ...options, toolFormat: { ...toolFormat, call: [{ slot: "x" }] } as unknown as typeof toolFormat });
  await expect(wrong).rejects.toThrow(/toolFormat: expected a name, or a description/);
});

describe("run", () => {
  const options: GenerateOptions = { temperature: 0, maxTokens: 200, parallelToolCalls: false, toolChoice: "required" };

  test("calls tools and goes on with their results", async () => {
    const session = model.createSession();
    const seen: unknown[] = [];
    const execute = (input: unknown) => {
      seen.push(input);
      return { sky: "clear" };
    };
    const parts = await partsOf<RunPart>(session.run("Weather?", { ...options, tools: [{ ...weather, execute }] }));
    const [result] = parts.filter((part) => part.type === "toolResult");
    expect(result).toMatchObject({ id: "call00000", name: "get_weather", result: '{"sky":"clear"}', isError: false });
    expect(seen).toHaveLength(1);
    expect(parts.at(-1)).toMatchObject({ type: "finish" });
    expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(session.messages[2]).toEqual({ role: "tool", tool_call_id: "call00000", name: "get_weather", content: '{"sky":"clear"}' });
  });

  test("turns errors into results, and stops after maxSteps or at a tool that it cannot call", async () => {
    const execute = () => {
      throw new Error("no such city");
    };
    const failing = await partsOf<RunPart>(model.createSession().run("Weather?", { ...options, tools: [{ ...weather, execute }] }));
    expect(failing.find((part) => part.type === "toolResult")).toMatchObject({ result: "Error: no such city", isError: true });
    const one = await partsOf<RunPart>(
      model.createSession().run("Weather?", { ...options, maxSteps: 1, tools: [{ ...weather, execute }] }),
    );
    expect(one.filter(({ type }) => type === "toolResult")).toEqual([]);
    expect(one.at(-1)).toMatchObject({ reason: "toolCalls" });
    const manual = await partsOf<RunPart>(model.createSession().run("Weather?", { ...options, tools: [weather] }));
    expect(manual.at(-1)).toMatchObject({ reason: "toolCalls" });
  });

  test("rejects with its own error, also after the session was disposed of or while it is busy", async () => {
    const enough = new Error("enough");
    const runUntil = (end: (session: Session) => void) => {
      const session = model.createSession();
      const controller = new AbortController();
      const execute = () => {
        end(session);
        controller.abort(enough);
      };
      return partsOf(session.run("Weather?", { ...options, tools: [{ ...weather, execute }], signal: controller.signal }));
    };
    await expect(runUntil((session) => session.dispose())).rejects.toBe(enough);
    let other: Promise<unknown> = Promise.resolve();
    const busy = runUntil((session) => {
      other = session.complete("Hello", { maxTokens: 1 });
    });
    await expect(busy).rejects.toBe(enough);
    await other;
  });

  test("is stopped by an abort, also while a tool works", async () => {
    const session = model.createSession();
    const controller = new AbortController();
    const execute = () => {
      controller.abort(new Error("enough"));
      return new Promise(() => undefined);
    };
    const run = partsOf(session.run("Weather?", { ...options, tools: [{ ...weather, execute }], signal: controller.signal }));
    await expect(run).rejects.toThrow("enough");
    expect(session.messages).toEqual([]);
  });
});

describe("wrong options", () => {
  test.each([
    ["a tool without a name", { tools: [{ description: "x" }] }, /tools\[0\]: expected name/],
    ["a name of other characters", { tools: [{ name: "a b" }] }, /tools\[0\]: expected name/],
    ["two tools of one name", { tools: [weather, weather] }, /two of the name get_weather/],
    ["a choice of another tool", { tools, toolChoice: { name: "x" } }, /toolChoice: expected a tool of the list/],
    ["required calls without tools", { toolChoice: "required" }, /toolChoice/],
    ["a choice of another kind", { tools, toolChoice: "always" }, /toolChoice/],
    ["tools that are no list", { tools: weather }, /tools: expected a list/],
    ["a format of another name", { tools, toolFormat: "xml" }, /toolFormat/],
  ])("%s", async (_, options, message) => {
    const run = model.createSession().complete("a", options as unknown as GenerateOptions);
    await expect(run).rejects.toThrow(ArgumentError);
    await expect(model.createSession().complete("a", options as unknown as GenerateOptions)).rejects.toThrow(message);
  });

  test("a reference that is no percent-encoded text", () => {
    const root = { $defs: { "100%": { type: "string" } } };
    expect(resolved({ $ref: "#/$defs/100%" }, { tool: "f", root })).toBe(root.$defs["100%"]);
    expect(() => resolved({ $ref: "#/$defs/%" }, { tool: "f", root })).toThrow(UnsupportedError);
  });

  test("an abort ends the making of a grammar for arguments in tags", async () => {
    const open = { string: ">", number: ">", boolean: ">", null: ">", array: ">", object: ">" };
    const syntax = { kind: "tagged", first: "<arg ", open, close: "</arg>", next: "<arg ", isPython: false, hasCdata: false } as const;
    const { grammar } = await argumentFamily(syntax);
    const grammarFor = (signal?: AbortSignal) =>
      grammar("f", { properties: { n: { type: "integer" } } }, { markup: new Markup(model.tokenizer), signal });
    expect(grammarFor().warnings).toEqual([]);
    const reason = new Error("enough");
    expect(() => grammarFor(AbortSignal.abort(reason))).toThrow(reason);
  });

  test("raw text has no tools", async () => {
    await expect(model.createSession().complete("a", { tools, raw: true })).rejects.toThrow(/no turn of a chat/);
  });
});
