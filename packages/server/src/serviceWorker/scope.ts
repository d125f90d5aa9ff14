/** The part of a service worker's global scope that is used here. TypeScript's types of it exclude those of pages. */
export interface ServiceWorkerScope {
  readonly clients: Clients;
  readonly location: { readonly origin: string };
  addEventListener(type: "fetch", listen: (event: FetchEvent) => void): void;
}

export interface FetchEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
  /** Keeps the service worker running until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

/** Pages that a service worker can reach. */
export interface Clients {
  get(id: string): Promise<unknown>;
  matchAll(options: { readonly type: "window"; readonly includeUncontrolled: boolean }): Promise<readonly Client[]>;
}

export interface Client {
  readonly id: string;
  postMessage(message: unknown, transfer: readonly Transferable[]): void;
}
