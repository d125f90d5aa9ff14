import { ArgumentError } from "@centella/quant";
import { callback, describe, isRecord } from "@centella/quant/checks";
import { isOffer, offer } from "./messages.ts";

/** A `Worker`. Its type is not named, because projects for Node have none. */
export interface MessageTarget {
  postMessage(message: unknown, transfer: MessagePort[]): void;
}

/**
 * Offers the models of a dedicated worker, whose script calls `answerRequests`, to the page's service worker. Call it in the page. Returns a
 * function that ends this.
 * @throws {ArgumentError} for a value that is not a worker, and where there are no service workers: on pages without HTTPS
 */
export function offerWorker(worker: MessageTarget): () => void {
  if (!isRecord(worker) || !callback.accepts(worker.postMessage))
    throw new ArgumentError("offerWorker", "a worker", describe(worker), "pass new Worker(…) whose script calls answerRequests");
  const { serviceWorker } = globalThis.navigator as { readonly serviceWorker?: ServiceWorkerContainer };
  if (serviceWorker === undefined)
    throw new ArgumentError(
      "offerWorker",
      "a page that may have a service worker",
      "another",
      "serve the page over HTTPS or from localhost",
    );
  const forward = ({ data, ports }: MessageEvent): void => {
    if (isOffer(data)) worker.postMessage(offer, [...ports]);
  };
  serviceWorker.addEventListener("message", forward);
  serviceWorker.startMessages();
  return () => serviceWorker.removeEventListener("message", forward);
}
