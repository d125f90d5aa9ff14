import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { expect, test } from "vitest";

const path = (from: string): string => fileURLToPath(new URL(`../../../packages/${from}`, import.meta.url));
const [bin, tiny] = [path("cli/bin/centella.cjs"), path("model-fable/models/fable-tiny-q8_0.gguf")];

/** Requests, and how many are open at the same time. */
const [count, inFlight] = [500, 8];

/** A server in a process of its own, which can be started again. */
class Replica {
  /** Ids of requests whose text has ended. */
  readonly answered: string[] = [];
  #process: ChildProcess | undefined;
  #url = "";

  get url(): string {
    return this.#url;
  }

  /** Starts the process and waits until it is ready. */
  async start(): Promise<void> {
    const args = ["serve", `story=${tiny}`, "--port", "0", "--backend", "wasm", "--threads", "1", "--ctx-size", "256", "--log"];
    const child = spawn(process.execPath, [bin, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    let events = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const lines = (events + text).split("\n");
      events = lines.pop()!;
      for (const line of lines) this.#record(JSON.parse(line) as { type: string; requestId: string; finish: string });
    });
    const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    this.#url = /http:\S+/.exec(line)![0];
    while (!(await fetch(`${this.#url}/health`)).ok) await wait(20);
  }

  /** Lets the process end its streams, and returns its exit code. */
  async stop(): Promise<number> {
    const child = this.#process!;
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const [code] = (await ended) as [number];
    return code;
  }

  #record({ type, requestId, finish }: { readonly type: string; readonly requestId: string; readonly finish: string }): void {
    if (type === "finished" && finish !== "cancelled") this.answered.push(requestId);
  }
}

/** Sends requests to the replicas in turn, and to the next one if a replica does not accept connections. */
async function proxy(replicas: readonly Replica[]): Promise<{ readonly url: string; close(): void }> {
  let turn = 0;
  const forward = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries: number): void => {
    const { url } = replicas[turn++ % replicas.length]!;
    const sent = httpRequest(url + incoming.url!, { method: incoming.method, headers: { ...incoming.headers, host: "localhost" } });
    sent.on("response", (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" && tries > 0) forward(incoming, body, outgoing, tries - 1);
      else outgoing.destroy();
    });
    sent.end(body);
  };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    forward(incoming, Buffer.concat(chunks), outgoing, replicas.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

test(`two replicas restart one after the other: each of ${count} requests is answered once`, async () => {
  const replicas = [new Replica(), new Replica()];
  await Promise.all(replicas.map((replica) => replica.start()));
  const front = await proxy(replicas);
  const client = new OpenAI({ apiKey: "none", baseURL: `${front.url}/v1`, maxRetries: 5 });
  let [sent, received] = [0, 0];
  const send = async (): Promise<void> => {
    while (sent < count) {
      const id = `request-${sent++}`;
      const request = { model: "story", messages: [{ role: "user" as const, content: `Story ${id}` }], max_tokens: 2, seed: 1 };
      const { choices } = await client.chat.completions.create(request, { headers: { "x-request-id": id } });
      if (choices[0]!.finish_reason === "length") received++;
    }
  };
  const senders = Array.from({ length: inFlight }, send);
  const codes: number[] = [];
  for (const [i, replica] of replicas.entries()) {
    while (received < ((i + 1) * count) / 4) await wait(5);
    codes.push(await replica.stop());
    await replica.start();
  }
  await Promise.all(senders);
  for (const replica of replicas) codes.push(await replica.stop());
  front.close();
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(received).toBe(count);
  const answered = replicas.flatMap((replica) => replica.answered);
  expect(answered.sort()).toEqual(Array.from({ length: count }, (_, i) => `request-${i}`).sort());
});
