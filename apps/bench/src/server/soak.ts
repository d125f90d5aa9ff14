import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel, type Model } from "@centella/llm";
import { createHandler, type Handler } from "@centella/server";
import { type Listener, prometheusMetrics, serve } from "@centella/server/node";
import { random } from "../stats/random.ts";

/** What a server holds when no request is open. */
interface Held {
  /** Of the JavaScript heap and array buffers, after a collection. */
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Blocks of the cache and slots that are in use, and requests that run and wait. */
  readonly inUse: number;
}

/** Growth of the heap that is accepted: caches of code and of compiled formats. */
const maxGrowthBytes = 16 * 2 ** 20;

/** Clients at the same time. */
const clients = 24;

/** Minutes of load before the start is measured, and between reports. */
const [warmUpMinutes, reportMinutes] = [0.25, 0.5];

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A server under mixed load. */
class Soak {
  readonly #listener: Listener;
  readonly #model: Model;
  readonly #next = random(1);
  readonly #statuses = new Map<string, number>();
  /** Of admitted and queued requests, less those that ended. */
  #open = 0;
  #until = 0;

  constructor(handler: Handler, listener: Listener, model: Model) {
    this.#listener = listener;
    this.#model = model;
    handler.events.subscribe((event) => {
      if (event.type === "queued") this.#open++;
      if (event.type === "released" || (event.type === "dequeued" && !event.isAdmitted)) this.#open--;
    });
  }

  /** Number of requests by their end. */
  get summary(): string {
    return [...this.#statuses].map(([end, count]) => `${end}: ${count}`).join(", ");
  }

  async run(minutes: number): Promise<void> {
    this.#until = performance.now() + minutes * 60_000;
    await Promise.all(Array.from({ length: clients }, () => this.#client()));
  }

  /** What is held when all requests have ended. */
  async held(): Promise<Held> {
    for (let i = 0; i < 50 && this.#open > 0; i++) await wait(100);
    await wait(300);
    collect();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    const slots = (await (await fetch(`${this.#listener.url}/slots`)).json()) as readonly { readonly is_processing: boolean }[];
    const { usedBlocks } = await this.#model.cacheUsage();
    const inUse = usedBlocks + slots.filter((slot) => slot.is_processing).length + this.#open;
    return { heapBytes: heapUsed + arrayBuffers, residentBytes: rss, inUse };
  }

  async #client(): Promise<void> {
    while (performance.now() < this.#until) {
      const controller = new AbortController();
      // A third of the clients leave: at once, in the queue, in the prompt or in the text.
      const leaves = this.#next() < 1 / 3 ? setTimeout(() => controller.abort(), 300 * this.#next() ** 2) : undefined;
      const end = await this.#request(controller.signal).catch(() => (controller.signal.aborted ? "left" : "broken"));
      clearTimeout(leaves);
      this.#statuses.set(end, (this.#statuses.get(end) ?? 0) + 1);
      // The queue is full.
      if (end === "503") await wait(200);
    }
  }

  async #request(signal: AbortSignal): Promise<string> {
    const [path, body] = this.#body();
    const response = await fetch(this.#listener.url + path, { method: "POST", body: JSON.stringify(body), signal });
    const isSlow = this.#next() < 0.1;
    for await (const _ of response.body!) if (isSlow) await wait(100, undefined, { signal });
    return String(response.status);
  }

  /** A request of some kind. */
  #body(): readonly [path: string, body: object] {
    const size = Math.floor(60 * this.#next());
    const messages = [{ role: "user", content: `${"A fox ran. ".repeat(size)}Story ${Math.floor(1000 * this.#next())}` }];
    const schema = { type: "object", properties: { age: { type: "integer" } }, required: ["age"], additionalProperties: false };
    const common = { messages, max_tokens: 1 + size, stream: this.#next() < 0.5 };
    const kinds: readonly (readonly [path: string, body: object])[] = [
      ["/v1/chat/completions", common],
      ["/v1/chat/completions", { ...common, n: 2 }],
      ["/v1/chat/completions", { ...common, response_format: { type: "json_schema", json_schema: { name: "fox", schema } } }],
      ["/v1/responses", { input: "Tell me a story.", max_output_tokens: 16 + size, stream: common.stream }],
      ["/v1/messages", { ...common, model: "fable" }],
      ["/api/chat", { model: "fable", messages, options: { num_predict: size + 1 } }],
      ["/v1/embeddings", { input: ["a fox", "an owl"] }],
      ["/v1/chat/completions", { ...common, temperature: "hot" }],
    ];
    return kinds[Math.floor(kinds.length * this.#next())]!;
  }

  async close(): Promise<void> {
    await this.#listener.close();
  }
}

/** Serves a model under mixed load. Prints what is held, and returns whether it returns to its start. */
export async function soak(model: string, minutes: number): Promise<boolean> {
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  const loaded = await loadModel(model, { runtime, sequences: 4 });
  const handler = createHandler({ models: { fable: loaded }, metrics: prometheusMetrics(), maxQueue: 16 });
  const load = new Soak(handler, await serve(handler, { port: 0 }), loaded);
  await load.run(warmUpMinutes);
  const start = await load.held();
  report("start", start);
  let held = start;
  for (let done = 0; done < minutes; done += reportMinutes) {
    await load.run(Math.min(reportMinutes, minutes - done));
    held = await load.held();
    report(`${done + reportMinutes} min`, held);
  }
  console.log(load.summary);
  await load.close();
  await loaded.dispose();
  await runtime.dispose();
  const growth = held.heapBytes - start.heapBytes;
  const isBack = held.inUse === 0 && growth <= maxGrowthBytes;
  console.log(isBack ? "everything is back at its start" : `expected nothing in use and at most ${mib(maxGrowthBytes)} more heap`);
  return isBack;
}

function report(when: string, { heapBytes, residentBytes, inUse }: Held): void {
  console.log(`${when}: heap ${mib(heapBytes)}, resident ${mib(residentBytes)}, ${inUse} sequences, blocks and requests in use`);
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
