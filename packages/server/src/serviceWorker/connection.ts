import { type Ask, offer, type Reply } from "./messages.ts";
import type { Clients } from "./scope.ts";

/** Milliseconds in which a worker says that it is ready, and between looks for its page. */
const [readyMs, lookMs] = [1000, 1000];

/** A channel to a worker that has models. */
export class Connection {
  readonly #port: MessagePort;
  readonly #replies: Reply[] = [];
  readonly #watch: ReturnType<typeof setInterval>;
  #wake: (() => void) | undefined;

  /** Asks all pages for a worker. Returns the channel to the first one that is ready, or undefined if none is. */
  static async open(clients: Clients): Promise<Connection | undefined> {
    const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
    const channels = pages.map((client) => {
      const { port1, port2 } = new MessageChannel();
      return { client, port1, port2 };
    });
    const ready = new Promise<(typeof channels)[number] | undefined>((resolve) => {
      for (const channel of channels) {
        channel.port1.onmessage = () => resolve(channel);
        channel.client.postMessage(offer, [channel.port2]);
      }
      if (channels.length === 0) resolve(undefined);
      else setTimeout(() => resolve(undefined), readyMs);
    });
    const chosen = await ready;
    for (const { port1 } of channels) if (port1 !== chosen?.port1) refuse(port1);
    return chosen && new Connection(chosen.port1, () => clients.get(chosen.client.id));
  }

  private constructor(port: MessagePort, find: () => Promise<unknown>) {
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<Reply>) => this.#add(data);
    port.addEventListener("close", () => this.#add({ type: "failed" }));
    // Not all browsers say that the other end is gone.
    this.#watch = setInterval(async () => {
      if ((await find()) === undefined) this.#add({ type: "failed" });
    }, lookMs);
  }

  send(ask: Ask): void {
    this.#port.postMessage(ask, ask.type === "request" && ask.body !== undefined ? [ask.body] : []);
  }

  /** The next reply: "failed" if the worker is gone. */
  async receive(): Promise<Reply> {
    while (this.#replies.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#replies.shift()!;
  }

  /** Ends the request if it still runs. Who waits for a reply gets "failed". */
  close(): void {
    clearInterval(this.#watch);
    refuse(this.#port);
    this.#add({ type: "failed" });
  }

  #add(reply: Reply): void {
    this.#replies.push(reply);
    this.#wake?.();
  }
}

function refuse(port: MessagePort): void {
  port.postMessage({ type: "abort" } satisfies Ask);
  port.close();
}
