import type { RequestListener, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Handler } from "../handler.ts";

/** Answers Node's requests by a handler, with the host names that a request may have in `Host`. */
export function requestListener(handler: Handler, hosts: readonly string[] | undefined): RequestListener {
  const listener = getRequestListener(
    (request, { outgoing }) => {
      if ("flushHeaders" in outgoing) delayHead(outgoing);
      return handler.fetch(request, { hosts });
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => void listener(request, response);
}

/** Milliseconds for which the head of a response waits for the first bytes of its body, to be sent with them. */
const headMs = 50;

/** Each write to a socket costs as much as several tokens. */
function delayHead(outgoing: ServerResponse): void {
  const flush = outgoing.flushHeaders.bind(outgoing);
  outgoing.flushHeaders = () => {
    const timer = setTimeout(flush, headMs);
    outgoing.once("close", () => clearTimeout(timer));
  };
}
