import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type GenerateOptions, loadModel, type Model, type RunPart, type SchemaValue, type StandardSchema, tool } from "../src/index.ts";
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

const Fox = z.object({ name: z.string().min(1).max(10), age: z.int().min(0).max(20), colour: z.enum(["red", "grey"]) });

test("a type of Zod constrains the answer, and validates and types its value", async () => {
  const { value, complete, text } = await model
    .createSession()
    .complete("A fox", { format: { schema: Fox }, temperature: 1, seed: 1, maxTokens: 200 });
  expect(complete).toBe(true);
  // Checked by the compiler as well.
  const age: number | undefined = value?.age;
  const colour: "red" | "grey" | undefined = value?.colour;
  expect(Fox.parse(JSON.parse(text))).toEqual(value);
  expect([age, colour]).toEqual([value?.age, value?.colour]);
});

test("a type may change the value, or refuse it for reasons that JSON Schema does not have", async () => {
  const options: GenerateOptions = { temperature: 0, maxTokens: 200 };
  const Wrapped = z.object({ ok: z.boolean() });
  const changing = z
    .string()
    .min(2)
    .max(4)
    .refine((text) => text === "", "must be empty");
  const refused = await model.createSession().complete("A fox", { ...options, format: { schema: changing } });
  expect(refused).toMatchObject({ complete: true, issues: [{ message: "must be empty" }] });
  expect(refused).not.toHaveProperty("value");
  expect((await model.createSession().complete("A fox", { ...options, format: { schema: Wrapped } })).value).toEqual({
    ok: expect.any(Boolean),
  });
});

test("literal schemas type the value", async () => {
  const { value } = await model.createSession().complete("A fox", {
    format: {
      schema: {
        type: "object",
        properties: { tall: { type: "boolean" }, n: { enum: [1, 2] } },
        required: ["tall"],
        additionalProperties: false,
      },
    },
    temperature: 0,
    maxTokens: 100,
  });
  const tall: boolean | undefined = value?.tall;
  const n: 1 | 2 | undefined = value?.n;
  expect(typeof tall).toBe("boolean");
  expect([undefined, 1, 2]).toContain(n);
  const many: SchemaValue<{ type: "array"; items: { anyOf: [{ type: "integer" }, { type: "null" }] } }> = [1, null];
  const pair: SchemaValue<{ type: "array"; prefixItems: [{ const: "a" }, { type: ["string", "null"] }]; items: false }> = ["a", null];
  const any: SchemaValue<Record<string, unknown>> = many ?? pair;
  expect(any).toEqual([1, null]);
});

describe("the value so far", () => {
  test("comes with the parts, on request", async () => {
    const parts: unknown[] = [];
    for await (const part of model
      .createSession()
      .generate("A fox", { format: { schema: Fox }, partial: true, temperature: 1, seed: 2, maxTokens: 200 })) {
      if (part.type === "text" && part.partial !== undefined) parts.push(part.partial);
      if (part.type === "finish") expect(parts.at(-1)).toEqual(part.value);
    }
    expect(parts.length).toBeGreaterThan(3);
    expect(parts[0]).toEqual({});
  });

  test("needs a format with values", () => {
    expect(() => model.createSession().generate("A", { partial: true })).toThrow(/partial: expected the format "json" or \{ schema \}/);
    expect(() => model.createSession().generate("A", { partial: true, format: { regex: "a" } })).toThrow(/partial/);
  });
});

test("types that do not convert themselves are refused", async () => {
  const type: StandardSchema = { "~standard": { version: 1, vendor: "plain", validate: (value) => ({ value }) } };
  await expect(model.createSession().complete("a", { format: { schema: type } })).rejects.toThrow(UnsupportedError);
  await expect(model.createSession().complete("a", { format: { schema: z.bigint() } })).rejects.toThrow(
    /type of zod .*, got .*; use types with a JSON Schema/,
  );
});

test("tools take types as well: their arguments are validated before the call", async () => {
  const seen: string[] = [];
  const feed = tool({ name: "feed", inputSchema: Fox, execute: ({ name, age }) => void seen.push(`${name} ${age.toFixed(0)}`) });
  const strict = tool({
    name: "feed",
    inputSchema: z.object({ n: z.int().min(0).max(9) }).refine(() => false, "never"),
    execute: () => seen.push("called"),
  });
  const options: GenerateOptions = { temperature: 0, maxTokens: 200, toolChoice: "required", parallelToolCalls: false };
  const results: RunPart[] = [];
  for await (const part of model.createSession().run("Feed", { ...options, maxSteps: 2, tools: [feed] }))
    if (part.type === "toolResult") results.push(part);
  for await (const part of model.createSession().run("Feed", { ...options, maxSteps: 2, tools: [strict] }))
    if (part.type === "toolResult") results.push(part);
  expect(results).toMatchObject([
    { result: "null", isError: false },
    { result: "Error: never", isError: true },
  ]);
  expect(seen).toHaveLength(1);
  const literal = tool({
    name: "f",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    execute: ({ n }) => n + 1,
  });
  expect(literal.name).toBe("f");
});
