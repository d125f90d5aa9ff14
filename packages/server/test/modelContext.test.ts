import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { createHandler } from "../src/index.ts";
import { scripted } from "./scriptedModel.ts";
import { fetchFrom, TestModel } from "./serving.ts";

const served = await TestModel.forFile();
const fed: string[] = [];

// A server of the Model Context Protocol with a tool, and a client of it.
const server = new McpServer({ name: "zoo", version: "1.0.0" });
const inputSchema = z.strictObject({ animal: z.enum(["fox", "owl"]) });
server.registerTool("feed", { description: "Feeds an animal.", inputSchema }, async ({ animal }) => {
  fed.push(animal);
  return { content: [{ type: "text", text: `fed the ${animal}` }] };
});
const client = new Client({ name: "test", version: "1.0.0" });
const [there, here] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(there), client.connect(here)]);

afterAll(async () => {
  await client.close();
  await server.close();
});

/** The protocol's tools as those of a chat. */
async function tools(): Promise<OpenAI.ChatCompletionTool[]> {
  const list = await client.listTools();
  return list.tools.map(({ name, description = "", inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
}

/** The results of calls, as messages. */
async function call(calls: readonly OpenAI.ChatCompletionMessageToolCall[]): Promise<OpenAI.ChatCompletionToolMessageParam[]> {
  const results = calls.map(async (each) => {
    if (each.type !== "function") throw new Error("expected a function");
    const { content } = await client.callTool({ name: each.function.name, arguments: JSON.parse(each.function.arguments) });
    const [{ text }] = content as [{ readonly text: string }];
    return { role: "tool" as const, tool_call_id: each.id, content: text };
  });
  return Promise.all(results);
}

test("a loop: the model calls the protocol's tools until it has an answer", async () => {
  const { model, prompts } = scripted(served, [
    {
      calls: [
        { name: "feed", arguments: { animal: "owl" } },
        { name: "feed", arguments: { animal: "fox" } },
      ],
    },
    { text: "Both are full." },
  ]);
  const handler = createHandler({ models: { fable: model } });
  const openai = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch: fetchFrom(handler), maxRetries: 0 });
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Feed them." }];
  for (;;) {
    const { choices } = await openai.chat.completions.create({ model: "fable", messages, tools: await tools() });
    const { message } = choices[0]!;
    messages.push(message);
    if (message.tool_calls === undefined) break;
    messages.push(...(await call(message.tool_calls)));
  }
  expect(messages.at(-1)).toMatchObject({ role: "assistant", content: "Both are full." });
  expect(fed.splice(0)).toEqual(["owl", "fox"]);
  expect(prompts[1]).toMatchObject([{}, {}, { role: "tool", content: "fed the owl" }, { role: "tool", content: "fed the fox" }]);
  await handler.close();
});

test("arguments that the model writes itself are those of the protocol's schema", async () => {
  const handler = served.handler();
  const openai = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch: fetchFrom(handler), maxRetries: 0 });
  const { choices } = await openai.chat.completions.create({
    model: "fable",
    messages: [{ role: "user", content: "Feed one." }],
    tools: await tools(),
    tool_choice: "required",
    parallel_tool_calls: false,
    temperature: 0,
    max_tokens: 100,
  });
  const [result] = await call(choices[0]!.message.tool_calls!);
  expect(result!.content).toBe(`fed the ${fed.splice(0)[0]}`);
  await handler.close();
});
