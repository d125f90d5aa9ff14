/*
 * A request goes from the service worker over a page to the worker with the models. Each request has a channel of its own: browsers end idle
 * service workers, which would lose a channel that is kept. Chunks of the body are sent one by one, when they are read.
 */

/** Sent with one end of a channel: by the service worker to pages, and by pages to their workers. */
interface Offer {
  readonly centella: "request";
}

export const offer: Offer = { centella: "request" };

export function isOffer(message: unknown): boolean {
  return typeof message === "object" && message !== null && "centella" in message && message.centella === offer.centella;
}

type Headers = readonly (readonly [name: string, value: string])[];

/** From the service worker. The first worker that is ready gets the request; "abort" ends a request and refuses the other workers. */
export type Ask =
  | {
      readonly type: "request";
      readonly method: string;
      readonly url: string;
      readonly headers: Headers;
      readonly body: ArrayBuffer | undefined;
    }
  | { readonly type: "more" | "abort" };

/** From the worker with the models. */
export type Reply =
  | { readonly type: "ready" | "end" | "failed" }
  | { readonly type: "response"; readonly status: number; readonly headers: Headers; readonly hasBody: boolean }
  | { readonly type: "chunk"; readonly bytes: Uint8Array<ArrayBuffer> };
