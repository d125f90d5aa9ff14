import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

// A reference to another file cannot be enforced.
const animal = process.argv.includes("--odd") ? { $ref: "https://zoo.test/animal.json" } : { type: "string", enum: ["fox", "owl"] };

/** A server of the Model Context Protocol with one tool. `onCall` hears of each call. */
export async function openZoo(transport: Transport, onCall: (given: unknown) => void): Promise<Server> {
  const server = new Server({ name: "zoo", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [
      {
        name: "feed",
        description: "Feeds an animal.",
        inputSchema: { type: "object", properties: { animal }, required: ["animal"], additionalProperties: false },
      },
    ],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    onCall(params.arguments);
    return { content: [{ type: "text", text: `The ${params.arguments?.animal} is full.` }] };
  });
  await server.connect(transport);
  return server;
}

// Started by a client: on stdin and stdout.
if (process.argv.includes("--stdio")) await openZoo(new StdioServerTransport(), () => undefined);
