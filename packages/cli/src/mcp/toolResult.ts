import type { Client } from "@modelcontextprotocol/sdk/client/index.js";

type CallResult = Awaited<ReturnType<Client["callTool"]>>;

/** What a model reads of a call's result: its text, or else its data. Models read no pictures and sounds, which are named. @throws if the tool failed */
export function toolResult({ content, structuredContent, isError }: CallResult): string {
  const parts = Array.isArray(content) ? content.map(textOf) : [];
  const text = parts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : parts.join("\n");
  if (isError === true) throw new Error(text || "the tool failed");
  return text;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly resource?: { readonly text?: string; readonly uri?: string };
}

function textOf({ type, text, mimeType = "", uri, resource }: Part): string {
  return text ?? resource?.text ?? `[${type} ${uri ?? resource?.uri ?? mimeType}]`;
}
