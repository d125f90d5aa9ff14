// An MCP server over stdio with one tool, which reads notes.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const notes = {
  garden: "Plant the tulips in October. The roses need no water before June.",
  kitchen: "The blue teapot leaks. Honey is in the left cupboard.",
};

const server = new McpServer({ name: "notes", version: "1.0.0" });
server.registerTool(
  "readNote",
  { description: "Reads the note on a topic.", inputSchema: { topic: z.enum(["garden", "kitchen"]) } },
  ({ topic }) => ({ content: [{ type: "text", text: notes[topic] }] }),
);
await server.connect(new StdioServerTransport());
