import { readFileSync } from "node:fs";
import { ArgumentError } from "@centella/core";
import { check, isRecord, type Kind, kind, listOf, nonEmptyString, string } from "@centella/quant/checks";

/** A server that is started, and spoken to by its stdin and stdout. */
export interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables that every server gets, such as PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** A server that is running, at a URL. */
export interface HttpServer {
  readonly name: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server of the Model Context Protocol. */
export type McpServer = StdioServer | HttpServer;

/**
 * Reads a file in the form that clients of the protocol share: `{ "mcpServers": { NAME: { "command", "args", "env", "cwd" } } }`, or
 * `{ "url", "headers" }` for a server that is running. A server that is `disabled` is left out. Other fields are those of other clients.
 * @throws {ArgumentError} for other content
 */
export function readMcpFile(path: string): readonly McpServer[] {
  const file = parsed(path, readFileSync(path, "utf8"));
  const where = `--mcp ${path}`;
  const servers = isRecord(file) ? file.mcpServers : undefined;
  if (!isRecord(servers)) throw new ArgumentError(where, '{ "mcpServers": { NAME: { … } } }', "other JSON");
  return Object.entries(servers).flatMap(([name, given]) => {
    if (!isRecord(given)) throw new ArgumentError(`${where}: ${name}`, 'a server { "command" } or { "url" }', "another value");
    return given.disabled === true ? [] : [serverOf(`${where}: ${name}`, name, given)];
  });
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ArgumentError(`--mcp ${path}`, "JSON", (error as Error).message);
  }
}

const texts: Kind = kind(
  "an object of strings",
  (value) => isRecord(value) && Object.values(value).every((one) => typeof one === "string"),
);
const httpUrl: Kind = kind("an http(s) URL", (value) => typeof value === "string" && /^https?:/.test(value) && URL.canParse(value));

function serverOf(where: string, name: string, given: Readonly<Record<string, unknown>>): McpServer {
  const { command, url } = given;
  if ((command === undefined) === (url === undefined)) {
    throw new ArgumentError(where, 'either "command" or "url"', command === undefined ? "neither" : "both");
  }
  // The checks make the casts true.
  const checked = <T>(field: string, fallback: T, allowed: Kind): T => check(where, field, (given[field] ?? fallback) as T, allowed);
  if (url !== undefined) return { name, url: new URL(checked("url", "", httpUrl)), headers: checked("headers", {}, texts) };
  return {
    name,
    command: checked("command", "", nonEmptyString),
    args: checked("args", [], listOf("strings", string)),
    env: checked("env", {}, texts),
    cwd: given.cwd === undefined ? undefined : checked("cwd", "", string),
  };
}
