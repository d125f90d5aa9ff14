/*
 * Keeps the page's files for times without a network, and makes the page cross-origin isolated where the server's headers do not: threads
 * need that. A page has one service worker, so the two jobs are one script.
 */

/** The part of the global scope of service workers that is used here. */
interface Scope {
  addEventListener(type: "install" | "activate", listener: (event: { waitUntil(work: Promise<unknown>): void }) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
  readonly registration: { readonly scope: string };
}

interface FetchEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

declare const __FILES__: { readonly version: string; readonly names: readonly string[] };

const scope = self as unknown as Scope;
const { version, names } = __FILES__;
const prefix = `playground ${scope.registration.scope} `;
const cacheName = prefix + version;
const isolation = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

scope.addEventListener("install", (event) => {
  event.waitUntil(store().then(() => scope.skipWaiting()));
});

scope.addEventListener("activate", (event) => {
  event.waitUntil(removeOldVersions().then(() => scope.clients.claim()));
});

scope.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope.registration.scope) || request.headers.has("range")) return;
  event.respondWith(answer(request));
});

async function store(): Promise<void> {
  const cache = await caches.open(cacheName);
  // The browser's own cache may have files of an older version under names without a hash.
  await cache.addAll(names.map((name) => new Request(new URL(name, scope.registration.scope), { cache: "no-cache" })));
}

async function removeOldVersions(): Promise<void> {
  for (const name of await caches.keys()) if (name.startsWith(prefix) && name !== cacheName) await caches.delete(name);
}

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(cacheName);
  // There is one page: its parts are named after the # of the address.
  const stored = await cache.match(request.mode === "navigate" ? scope.registration.scope : request);
  return isolated(stored ?? (await fetch(request)));
}

/** The same answer with the headers of isolation. */
function isolated(response: Response): Response {
  if (response.status === 0 || response.type === "opaqueredirect") return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(isolation)) headers.set(name, value);
  const { status, statusText } = response;
  return new Response(response.body, { headers, status, statusText });
}
