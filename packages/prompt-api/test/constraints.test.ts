import { describe, expect, test } from "vitest";
import { failureOf, openLanguageModels } from "./languageModels.ts";

const models = await openLanguageModels({ toolChoice: "required", parallelToolCalls: false, maxTokens: 100 }, 1024);
const question = "Which animal is it?";
const animal = {
  type: "object",
  properties: { animal: { enum: ["fox", "owl"] } },
  required: ["animal"],
  additionalProperties: false,
};

describe.each(models)("constraints over %s", (_, LanguageModel) => {
  test("answers match a schema or an expression", async () => {
    const session = await LanguageModel.create();
    expect(JSON.parse(await session.prompt(question, { responseConstraint: animal })).animal).toMatch(/^(fox|owl)$/);
    expect(await session.prompt(question, { responseConstraint: /^(FOX|OWL)$/i })).toMatch(/^(fox|owl)$/i);
    expect(await session.prompt(question, { responseConstraint: /\d{3}/g, omitResponseConstraintInput: true })).toMatch(/^\d{3}$/);
    const prefix = { role: "assistant", content: '{"animal":', prefix: true } as const;
    expect(await session.prompt([{ role: "user", content: question }, prefix], { responseConstraint: animal })).toMatch(/^"(fox|owl)"\}$/);
  });

  test("a constraint is part of the prompt, unless it is omitted", async () => {
    const session = await LanguageModel.create();
    const plain = await session.measureContextUsage(question);
    expect(await session.measureContextUsage(question, { responseConstraint: animal })).toBeGreaterThan(plain);
    const omitted = { responseConstraint: animal, omitResponseConstraintInput: true };
    expect(await session.measureContextUsage(question, omitted)).toBe(plain);
  });

  test.each([
    ["an answer that is cut short", /(long ){100}/, "SyntaxError"],
    ["a text", "fox" as unknown as object, "TypeError"],
    ["a list", [animal], "TypeError"],
    ["a schema that is none", { type: "fox" }, "TypeError"],
    ["a schema that cannot be enforced", { type: "array", items: {}, uniqueItems: true }, "NotSupportedError"],
    ["an expression that cannot be enforced", /(a)\1/, "NotSupportedError"],
    ["an expression that is not valid with flag u", /]/, "NotSupportedError"],
    ["an expression with flag v", Reflect.construct(RegExp, ["[a--b]", "v"]), "NotSupportedError"],
    ["no constraint to omit", undefined, "TypeError"],
  ])("%s is refused", async (_, responseConstraint, name) => {
    const session = await LanguageModel.create();
    const options = { ...(responseConstraint !== undefined && { responseConstraint }), omitResponseConstraintInput: true };
    expect((await failureOf(session.prompt(question, options))).name).toBe(name);
    expect(session.contextUsage).toBe(0);
  });

  test("tools are called, and the model goes on with their results", async () => {
    const fed: unknown[] = [];
    const feed = {
      name: "feed",
      description: "Feeds an animal.",
      inputSchema: animal,
      execute: async (input: { readonly animal: string }) => `fed ${fed.push(input.animal)}`,
    };
    const session = await LanguageModel.create({
      expectedInputs: [{ type: "text" }, { type: "tool-response" }],
      expectedOutputs: [{ type: "text" }, { type: "tool-call" }],
      tools: [feed],
    });
    const described = session.contextUsage;
    expect(described).toBeGreaterThan(20);
    await session.prompt(question);
    expect(fed.length).toBeGreaterThan(0);
    expect(fed.every((name) => name === "fox" || name === "owl")).toBe(true);
    expect(session.contextUsage).toBeGreaterThan(described + fed.length);
    const failing = { ...feed, execute: async () => Promise.reject(new Error("no food")) };
    // The model hears of the error, and answers.
    expect(await (await LanguageModel.create({ tools: [failing] })).prompt(question)).toEqual(expect.any(String));
  });
});
