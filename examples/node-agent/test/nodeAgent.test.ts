import { expect, test } from "vitest";
import { runExample, tiny } from "../../test/runExample.ts";

test("the agent calls the tool of the MCP server and goes on with its result", async () => {
  const [call, result, ...answer] = (await runExample("node-agent", ["node", "main.ts", "When do I plant the tulips?", tiny])).split("\n");
  const [, topic] = /^readNote\(\{"topic":"(garden|kitchen)"\}\)$/.exec(call!)!;
  expect(result).toMatch(topic === "garden" ? /^→ .*tulips in October/ : /^→ .*teapot leaks/);
  expect(answer.join("\n").trim()).not.toBe("");
});
