import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { modelName, type RunningServer } from "./servers.ts";

/** Token counts of an answer. */
export interface Counts {
  readonly prompt: number;
  /** Prompt tokens that were in the cache. */
  readonly cached: number;
  readonly generated: number;
}

/** A streamed answer. */
export interface Streamed {
  /** From the request to the first text, in milliseconds. */
  readonly firstMs: number;
  readonly totalMs: number;
  readonly counts: Counts;
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens: number };
  } | null;
}

/** Path of chats. */
export const chatPath = "/v1/chat/completions";

/** The body of a chat of exactly `maxTokens` tokens. */
export function chatBody(prompt: string, maxTokens: number): object {
  const messages = [{ role: "user", content: prompt }];
  return { model: modelName, messages, max_tokens: maxTokens, ignore_eos: true, temperature: 0 };
}

/** Node's own client: that of `fetch` takes half a millisecond more of each request. */
const agent = new Agent({ keepAlive: true });

/** Sends a request: a POST if it has a body. */
async function ask(url: string, body?: object, signal?: AbortSignal): Promise<IncomingMessage> {
  const options = { agent, method: body === undefined ? "GET" : "POST", headers: { "content-type": "application/json" } };
  const send = async (): Promise<IncomingMessage> => {
    const sent = request(url, { ...options, ...(signal && { signal }) }).end(body && JSON.stringify(body));
    try {
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      return response;
    } catch (error) {
      // The server has closed a connection that was open since an earlier request, as llama.cpp's does after streams.
      if (sent.reusedSocket && signal?.aborted !== true) return send();
      throw error;
    }
  };
  const response = await send();
  if (response.statusCode !== 200) throw new Error(`server: expected status 200, got ${response.statusCode} ${await text(response)}`);
  return response;
}

/** Begins a streamed chat of exactly `maxTokens` tokens. */
export function chat(server: RunningServer, prompt: string, maxTokens: number, signal?: AbortSignal): Promise<IncomingMessage> {
  return ask(server.url + chatPath, { ...chatBody(prompt, maxTokens), stream: true, stream_options: { include_usage: true } }, signal);
}

/** Waits for a chat that is not streamed. */
export async function wholeChat(server: RunningServer, prompt: string, maxTokens: number): Promise<void> {
  await text(await ask(server.url + chatPath, chatBody(prompt, maxTokens)));
}

/** Reads a chat to its end. */
export async function streamChat(server: RunningServer, prompt: string, maxTokens: number): Promise<Streamed> {
  const startedAt = performance.now();
  const response = await chat(server, prompt, maxTokens);
  let firstMs = Number.NaN;
  let counts: Counts = { prompt: 0, cached: 0, generated: 0 };
  for await (const data of eventsOf(response)) {
    const { choices, usage } = JSON.parse(data) as Chunk;
    if (Number.isNaN(firstMs) && choices[0]?.delta.content) firstMs = performance.now() - startedAt;
    if (usage)
      counts = {
        prompt: usage.prompt_tokens,
        cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
        generated: usage.completion_tokens,
      };
  }
  return { firstMs, totalMs: performance.now() - startedAt, counts };
}

/** The data of server-sent events, as they come. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  let unread = "";
  for await (const chunk of response.setEncoding("utf8")) {
    const events = (unread + chunk).split("\n\n");
    unread = events.pop()!;
    for (const event of events) if (event.startsWith("data: {")) yield event.slice("data: ".length);
  }
}

/** Whether any slot computes. */
export async function isBusy({ url }: RunningServer): Promise<boolean> {
  const slots = JSON.parse(await text(await ask(`${url}/slots`))) as readonly { readonly is_processing: boolean }[];
  return slots.some((slot) => slot.is_processing);
}
