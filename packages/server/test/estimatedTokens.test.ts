import { expect, test } from "vitest";
import { estimatedTokens } from "../src/generation/estimatedTokens.ts";

const text = "a".repeat(400);

test("a quarter of the characters is estimated, and ids count exactly", () => {
  expect(estimatedTokens(text, {})).toBe(100);
  expect(estimatedTokens({ ids: [1, 2, 3] }, {})).toBe(3);
  expect(estimatedTokens({ prefix: text, suffix: text, files: [{ name: "", text }] }, {})).toBeGreaterThanOrEqual(300);
  expect(estimatedTokens([{ role: "user", content: [{ type: "text", text }] }], {})).toBeGreaterThanOrEqual(100);
});

test("tools, schemas, calls and reasoning count", () => {
  const tools = [{ name: "feed", description: text, inputSchema: { type: "object", properties: { a: { description: text } } } as const }];
  expect(estimatedTokens("", { tools })).toBeGreaterThan(200);
  expect(estimatedTokens({ ids: [1] }, { format: { schema: { description: text } } })).toBeGreaterThan(100);
  expect(estimatedTokens("", { format: { gbnf: text } })).toBeGreaterThan(100);
  const call = { id: "1", type: "function", function: { name: "feed", arguments: text } };
  const answer = { role: "assistant", content: "", reasoning_content: text, tool_calls: [call] };
  expect(estimatedTokens([answer], {})).toBeGreaterThan(200);
});

test("data of any depth is counted", () => {
  let schema: object = {};
  for (let i = 0; i < 100_000; i++) schema = { items: schema };
  expect(estimatedTokens("", { format: { schema } as never })).toBeGreaterThan(100_000);
});
