import type { Tool } from "@centella/llm";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { messageOf } from "../failure.ts";
import { packageVersion } from "../packageVersion.ts";
import type { McpServer } from "./mcpFile.ts";
import { toolResult } from "./toolResult.ts";

/** A call of a tool, before it runs. */
export interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: unknown;
}

/** Decides whether a call runs. @throws an error that the model gets in place of a result */
export type Approve = (call: McpCall, signal: AbortSignal | undefined) => Promise<void>;

/** Connected servers, and their tools as those of a session. */
export class McpServers implements AsyncDisposable {
  readonly #clients: readonly Client[];
  readonly tools: readonly Tool[];

  private constructor(clients: readonly Client[], tools: readonly Tool[]) {
    this.#clients = clients;
    this.tools = tools;
  }

  /** Connects to all servers. @throws an error that names the server that fails */
  static async connect(servers: readonly McpServer[], approve: Approve, signal: AbortSignal): Promise<McpServers> {
    const connected = await Promise.allSettled(servers.map((server) => connect(server, signal)));
    const clients = connected.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    try {
      const failed = connected.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
      const listed = await Promise.all(clients.map((client, i) => listTools(servers[i]!.name, client, approve, signal)));
      return new McpServers(clients, withOwnNames(listed.flat()));
    } catch (error) {
      await closeAll(clients);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeAll(this.#clients);
  }
}

async function closeAll(clients: readonly Client[]): Promise<void> {
  await Promise.allSettled(clients.map((client) => client.close()));
}

async function connect(server: McpServer, signal: AbortSignal): Promise<Client> {
  const client = new Client({ name: "centella", version: packageVersion() });
  let log = "";
  const transport = transportTo(server, (text) => {
    log = (log + text).slice(-1000);
  });
  try {
    await client.connect(transport, { signal });
    return client;
  } catch (error) {
    await client.close();
    signal.throwIfAborted();
    const last = log.trim().split("\n").at(-1);
    throw new Error(`--mcp: cannot connect to the server ${server.name}: ${messageOf(error)}${last ? `; its last words: ${last}` : ""}`);
  }
}

/** @param onLog gets what a started server writes to its stderr */
function transportTo(server: McpServer, onLog: (text: string) => void): Transport {
  if ("url" in server) {
    // The type of `sessionId` is stricter in the interface than in the class.
    return new StreamableHTTPClientTransport(server.url, { requestInit: { headers: server.headers } }) as Transport;
  }
  const { command, args, env, cwd } = server;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: "pipe",
    ...(cwd !== undefined && { cwd }),
  });
  transport.stderr?.on("data", (chunk: Buffer) => onLog(chunk.toString()));
  return transport;
}

interface ServerTool extends Tool {
  readonly server: string;
}

/** Most pages of a list of tools: a server that lists more does not end. */
const maxPages = 100;

async function listTools(server: string, client: Client, approve: Approve, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools: ServerTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const list = await client.listTools(cursor === undefined ? {} : { cursor }, { signal });
    for (const { name, description, inputSchema } of list.tools) {
      const execute = async (given: unknown, { signal: stop }: { readonly signal: AbortSignal | undefined }): Promise<string> => {
        await approve({ server, tool: name, arguments: given }, stop);
        const call = { name, arguments: given as Record<string, unknown> };
        return toolResult(await client.callTool(call, undefined, stop === undefined ? {} : { signal: stop }));
      };
      // A schema from JSON is plain data.
      const schema = inputSchema as Tool["inputSchema"];
      tools.push({ server, name, ...(description !== undefined && { description }), inputSchema: schema, execute });
    }
    cursor = list.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`--mcp: expected a list of tools that ends, got more than ${maxPages} pages from ${server}`);
}

/** Tools with names that sessions take, and that differ: `SERVER_TOOL` for a name that an earlier tool has. */
function withOwnNames(tools: readonly ServerTool[]): readonly Tool[] {
  const taken = new Set<string>();
  return tools.map(({ server, ...tool }) => {
    const plain = nameOf(tool.name);
    let name = taken.has(plain) ? nameOf(`${server}_${tool.name}`) : plain;
    for (let count = 2; taken.has(name); count++) name = `${plain.slice(0, 60)}_${count}`;
    taken.add(name);
    return { ...tool, name };
  });
}

function nameOf(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "_").slice(0, 64);
}
