import { ArgumentError } from "@centella/quant";
import { callback, describe, isRecord } from "@centella/quant/checks";
import type { Handler } from "../handler.ts";
import { type Ask, isOffer, type Reply } from "./messages.ts";

/**
 * Answers requests that the page's service worker sends. Call it in the dedicated worker that has the models, and pass that worker to
 * `offerWorker` in the page.
 * @throws {ArgumentError} for a value that is not a handler
 */
export function answerRequests(handler: Handler): void {
  if (!isRecord(handler) || !callback.accepts(handler.fetch))
    throw new ArgumentError("answerRequests", "a handler", describe(handler), "pass createHandler(…)");
  globalThis.addEventListener("message", ({ data, ports }: MessageEvent) => {
    const [port] = ports;
    if (isOffer(data) && port !== undefined) serve(port, handler);
  });
}

/** Serves the request of a channel. */
function serve(port: MessagePort, handler: Handler): void {
  const controller = new AbortController();
  let body: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  const reply = (message: Reply, transfer: Transferable[] = []): void => port.postMessage(message, transfer);
  const end = (message: Reply): void => {
    reply(message);
    port.close();
  };
  const leave = (): void => {
    controller.abort();
    // A body that has failed is over, too.
    void body?.cancel().catch(() => undefined);
    port.close();
  };
  const answer = async ({ method, url, headers, body: sent }: Extract<Ask, { readonly type: "request" }>): Promise<void> => {
    const { signal } = controller;
    const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]), signal };
    const response = await handler.fetch(new Request(url, sent === undefined ? init : { ...init, body: sent }));
    body = response.body?.getReader();
    reply({ type: "response", status: response.status, headers: [...response.headers], hasBody: body !== undefined });
  };
  const more = async (): Promise<void> => {
    const { value } = (await body?.read()) ?? {};
    if (value === undefined) end({ type: "end" });
    else reply({ type: "chunk", bytes: value });
  };
  const fail = (): void => end({ type: "failed" });
  port.addEventListener("message", ({ data: ask }: MessageEvent<Ask>) => {
    if (ask.type === "request") answer(ask).catch(fail);
    else if (ask.type === "more") more().catch(fail);
    else leave();
  });
  // Not all browsers have this event.
  port.addEventListener("close", leave);
  port.start();
  reply({ type: "ready" });
}
