import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, describe, expect, test } from "vitest";
import { serve } from "../../gguf/test/httpServer.ts";
import { readMcpFile } from "../src/mcp/mcpFile.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";
import { openZoo } from "./mcp/zoo.ts";
import { hasPty, type Steps, typed } from "./terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-mcp-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file of servers and returns its path. */
function fileOf(servers: unknown, name = "mcp.json"): string {
  const path = join(folder, name);
  writeFileSync(path, typeof servers === "string" ? servers : JSON.stringify({ mcpServers: servers }));
  return path;
}

const zoo = { command: process.execPath, args: [fileURLToPath(new URL("mcp/zoo.ts", import.meta.url)), "--stdio"] };
const chat = (file: string, ...more: readonly string[]): readonly string[] => {
  return ["chat", tiny, "-n", "100", "--temp", "0", "--backend", "wasm", "--tool-choice", "feed", "--one-call", "--mcp", file, ...more];
};

describe("chat --mcp", () => {
  test("runs calls of a server that it starts, and goes on with their results", async () => {
    const path = join(folder, "saved.json");
    const again = join(folder, "again.json");
    const input = `Feed the fox.\n/save ${path}\n/load ${path}\n/save ${again}\n`;
    const { code, stdout, stderr } = await centella([...chat(fileOf({ zoo }), "--yes", "--verbose")], { input });
    expect(stdout).toMatch(/^\nfeed \{\s*"animal":\s*"(fox|owl)"\s*\}/);
    expect(stderr).toMatch(/^tools: feed$/m);
    expect(stderr).toMatch(/^feed: The (fox|owl) is full\.$/m);
    const messages = JSON.parse(readFileSync(path, "utf8"));
    expect(messages.map(({ role }: { readonly role: string }) => role).slice(0, 4)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(messages[2].content).toMatch(/^The (fox|owl) is full\.$/);
    expect(JSON.parse(readFileSync(again, "utf8"))).toEqual(messages);
    expect(code).toBe(0);
  });

  test("calls tools of servers over HTTP, with their headers, and names tools apart", async () => {
    const called: unknown[] = [];
    const headers = new Set<string | undefined>();
    await using http = await serve(async (request, response) => {
      headers.add(request.headers.authorization);
      const transport = new StreamableHTTPServerTransport();
      const server = await openZoo(transport as Transport, (given) => called.push(given));
      response.on("close", () => void server.close());
      await transport.handleRequest(request, response);
    });
    const file = fileOf({
      there: { url: http.url.href, headers: { Authorization: "Bearer secret" } },
      zoo,
      idle: { command: "nothing", disabled: true },
    });
    const { code, stderr } = await centella([...chat(file, "--yes", "--verbose")], { input: "Feed the fox.\n" });
    expect(stderr).toMatch(/^tools: feed, zoo_feed$/m);
    expect([code, called.length > 0, ...headers]).toEqual([0, true, "Bearer secret"]);
  });

  test("a schema that cannot be enforced is a warning", async () => {
    const { code, stdout, stderr } = await centella([...chat(fileOf({ zoo: { ...zoo, args: [...zoo.args, "--odd"] } }), "--yes")], {
      input: "Feed the fox.\n",
    });
    expect(stderr).toMatch(/^\(arguments of tools may not fit their schemas: .*\)$/m);
    expect([code, stdout.startsWith("\nfeed {")]).toEqual([0, true]);
  });
});

describe("wrong use", () => {
  test.each([
    ["no JSON", "{", /--mcp .*: expected JSON, got/],
    ["other JSON", "{}", /--mcp .*: expected \{ "mcpServers": \{ NAME: \{ … \} \} \}, got other JSON/],
    ["no server", '{ "mcpServers": { "a": 1 } }', /a: expected a server \{ "command" \} or \{ "url" \}, got another value/],
    ["neither", '{ "mcpServers": { "a": {} } }', /a: expected either "command" or "url", got neither/],
    ["both", '{ "mcpServers": { "a": { "command": "x", "url": "http://y" } } }', /a: expected either "command" or "url", got both/],
    ["a wrong URL", '{ "mcpServers": { "a": { "url": "file:///x" } } }', /a: expected url to be an http\(s\) URL/],
    ["wrong arguments", '{ "mcpServers": { "a": { "command": "x", "args": "y" } } }', /a: expected args to be a list of strings/],
  ])("of a file: %s", (_, text, message) => {
    expect(() => readMcpFile(fileOf(text, "wrong.json"))).toThrow(message);
  });

  test("of the command line, and servers that fail", async () => {
    const file = fileOf({ zoo });
    expectOneLine(await centella(chat(file)), /--mcp: expected --yes where nobody can be asked before a call, got none/, 2);
    expectOneLine(await centella(["chat", tiny, "--yes"]), /--yes: expected --mcp with it, got none/, 2);
    expectOneLine(await centella(chat(join(folder, "none.json"), "--yes")), /cannot open '.*none\.json': no such file/);
    const failing = fileOf({ zoo, broken: { command: process.execPath, args: ["-e", "throw new Error('no animals')"] } });
    expectOneLine(await centella(chat(failing, "--yes")), /cannot connect to the server broken: .*; its last words: /);
  });
});

describe.skipIf(!hasPty)("on a terminal (skipped where python3 has no pty)", () => {
  const question = "(y)es, (n)o, (a)lways: ";
  const onTerminal = (...steps: Steps) => typed(chat(fileOf({ zoo })), steps, { XDG_STATE_HOME: folder });

  test("each call is shown and asked for", async () => {
    const { shown, code } = await onTerminal(
      // The second line is typed before there is a question: no answer to it, but the next turn.
      ["> ", "Feed the fox.\ry\r"],
      [question, "no\r"],
      ["the user did not allow this call", ""],
      // Ctrl-C at a question stops the answer.
      [question, "\x03"],
      ["(stopped)", ""],
      ["> ", "Feed the owl.\r"],
      [question, "a\r"],
      ["is full", ""],
      ["> ", "Feed it again.\r"],
      ["is full", ""],
      ["> ", "\x04"],
    );
    expect(shown).toMatch(/run feed of zoo with \{"animal":"(fox|owl)"\}\? \(y\)es, \(n\)o, \(a\)lways: /);
    expect(shown.split(question)).toHaveLength(4);
    expect(code).toBe(0);
  });

  test("a call is not allowed where nobody can be asked any more", async () => {
    const { shown, code } = await onTerminal(["> ", "Feed the fox.\r\x04"]);
    expect({ code, isAsked: shown.includes(question) }).toEqual({ code: 0, isAsked: false });
    expect(shown).toContain("the user did not allow this call");
  });
});
