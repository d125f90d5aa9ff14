// Answers a question with tools, its own and those of an MCP server: node main.ts [QUESTION] [MODEL]
import { argv, execPath } from "node:process";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createCentella } from "@centella/ai-sdk";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { fable } from "@centella/model-fable";
import { isStepCount, ToolLoopAgent, tool } from "ai";
import { z } from "zod";

const [, , question = "When do I plant the tulips?", model = fable] = argv;
const runtime = await createRuntime({ backends: [wasm()] });
const centella = createCentella({ runtime, models: { agent: { source: model, load: { contextLength: "auto" } } } });
const notes = await createMCPClient({ transport: new StdioTransport({ command: execPath, args: ["notes.ts"] }) });
// With schemas, the tools are typed, and others of the server are left out.
const schemas = { readNote: { inputSchema: z.object({ topic: z.enum(["garden", "kitchen"]) }) } };
const today = tool({
  description: "Returns today's date.",
  inputSchema: z.object({}),
  execute: () => new Date().toDateString(),
});

const agent = new ToolLoopAgent({
  model: centella("agent"),
  instructions: "Answer from the user's notes.",
  tools: { today, ...(await notes.tools({ schemas })) },
  // It looks first, and then decides.
  prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? { type: "tool", toolName: "readNote" } : "auto" }),
  stopWhen: isStepCount(4),
  temperature: 0,
  maxOutputTokens: 100,
  providerOptions: { centella: { parallelToolCalls: false } },
});

const { fullStream } = await agent.stream({ prompt: question });
for await (const part of fullStream) {
  if (part.type === "tool-call") console.log(`${part.toolName}(${JSON.stringify(part.input)})`);
  if (part.type === "tool-result") console.log(`→ ${JSON.stringify(part.output)}`);
  if (part.type === "text-delta") process.stdout.write(part.text);
  if (part.type === "error") throw part.error;
}
console.log();

await notes.close();
await centella.dispose();
await runtime.dispose();
