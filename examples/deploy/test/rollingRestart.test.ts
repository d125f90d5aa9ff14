import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { requireProgram } from "./programs.ts";
import { caddy, freePort, nginx, type ProxyProgram, type RunningProxy, startProxy } from "./proxies.ts";
import { Replica } from "./replica.ts";

/** Requests, and how many are open at the same time. */
const [count, inFlight] = [500, 8];

/** Sends requests to the replicas in turn, and to the next one if a replica does not accept connections. */
async function simpleProxy(ports: readonly number[]): Promise<RunningProxy> {
  let turn = 0;
  const forward = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries: number): void => {
    const url = `http://127.0.0.1:${ports[turn++ % ports.length]}${incoming.url}`;
    const sent = httpRequest(url, { method: incoming.method, headers: { ...incoming.headers, host: "localhost" } });
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
    forward(incoming, Buffer.concat(chunks), outgoing, ports.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, close: async () => void server.close() };
}

/** Restarts two replicas one after the other, each when enough requests were answered. */
async function restartUnderLoad(start: (ports: readonly number[]) => Promise<RunningProxy>): Promise<void> {
  using left = new DisposableStack();
  const replicas = [await freePort(), await freePort()].map((port) => left.use(new Replica(port)));
  await Promise.all(replicas.map((replica) => replica.start()));
  const running = await start(replicas.map(({ port }) => port));
  onTestFinished(() => running.close());
  const client = new OpenAI({ apiKey: "none", baseURL: `http://127.0.0.1:${running.port}/v1`, maxRetries: 5 });
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
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(received).toBe(count);
  const answered = replicas.flatMap((replica) => replica.answered);
  expect(answered.sort()).toEqual(Array.from({ length: count }, (_, i) => `request-${i}`).sort());
}

const title = `two replicas restart one after the other: each of ${count} requests is answered once`;

test(`${title}, through a simple proxy`, () => restartUnderLoad(simpleProxy));

test.for<ProxyProgram>([caddy, nginx])(`${title}, through $program`, async (proxy, context) => {
  requireProgram(proxy.program, context);
  await restartUnderLoad((ports) => startProxy(proxy, ports));
});
