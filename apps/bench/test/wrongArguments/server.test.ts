import { tmpdir } from "node:os";
import * as server from "@centella/server";
import * as node from "@centella/server/node";
import * as serviceWorker from "@centella/server/service-worker";
import { test } from "vitest";
import { callExports, excused } from "./harness.ts";

const load = () => Promise.reject(new Error("not needed"));

test("server: wrong arguments are typed errors", async () => {
  await callExports("server", server, {
    createHandler: [
      {
        models: { story: { load, isLazy: true, idleMs: 1000 } },
        keys: [{ key: "secret", name: "a", maxRequests: 1, maxTokens: 10, maxContext: 100 }],
        hosts: ["localhost"],
        corsOrigins: ["https://example.com"],
        maxQueue: 1,
        maxQueuedTokens: 10,
        queueTimeoutMs: 10,
        requestTimeoutMs: 10,
        maxBody: 1000,
        pingMs: 1000,
      },
    ],
    groupEngines: excused("it takes models that are loaded"),
  });
  await callExports("server/node", node, {
    isLoopback: excused("it is a rule for names, which takes any text"),
    prometheusMetrics: [{ names: ["vllm"], includesProcess: false }],
    serve: excused("it opens ports"),
    slotFiles: [tmpdir()],
    traceTexts: excused("it takes a handler and the module of OpenTelemetry"),
  });
  await callExports("server/service-worker", serviceWorker, {
    answerRequests: excused("it listens to this thread's messages"),
    forwardRequests: excused("it only works in a service worker; packages/server/test/serviceWorker.test.ts has wrong arguments"),
    offerWorker: excused("it only works in a page; packages/server/test/serviceWorker.test.ts has wrong arguments"),
  });
});
