import { forwardRequests } from "@centella/server/service-worker";

// Serves the page of the first visit, too.
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

forwardRequests();
