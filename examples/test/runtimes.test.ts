import { expect, test } from "vitest";
import { startExample, tiny } from "./runExample.ts";

interface Completion {
  readonly choices: readonly [{ readonly message: { readonly content: string } }];
  readonly usage: { readonly completion_tokens: number };
}

interface Chunk {
  readonly choices: readonly [{ readonly delta: { readonly content?: string } }];
}

test.each([
  ["deno", ["deno", "run", "-A", "main.ts", tiny]],
  ["bun", ["bun", "main.ts", tiny]],
] as const)("%s serves a model, whole and streamed", async (name, command) => {
  await using server = await startExample(name, command);
  const messages = [{ role: "user", content: "Tell me a story about a fox." }];
  const ask = (fields: object): Promise<Response> => {
    const body = JSON.stringify({ messages, max_tokens: 20, temperature: 0, ...fields });
    return fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
  };
  const { choices, usage } = (await (await ask({})).json()) as Completion;
  expect(usage.completion_tokens).toBe(20);
  const events = (await (await ask({ stream: true })).text()).split("\n\n").filter((event) => event.startsWith("data: {"));
  const texts = events.map((event) => (JSON.parse(event.slice("data: ".length)) as Chunk).choices[0].delta.content ?? "");
  expect(texts.join("")).toBe(choices[0].message.content);
});
