import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const path = (from: string): string => fileURLToPath(new URL(`../../../packages/${from}`, import.meta.url));
const [bin, tiny] = [path("cli/bin/centella.cjs"), path("model-fable/models/fable-tiny-q8_0.gguf")];
/** Names of this machine, and of nginx's upstream. */
const hosts = "127.0.0.1,localhost,centella";

/** A server in a process of its own, which can be started again. */
export class Replica implements Disposable {
  readonly port: number;
  /** Ids of requests whose text has ended. */
  readonly answered: string[] = [];
  #process: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  /** Starts the process and waits until it is ready. */
  async start(): Promise<void> {
    const computed = ["--backend", "wasm", "--threads", "1", "--ctx-size", "256"];
    const args = ["serve", `story=${tiny}`, "--port", String(this.port), "--allowed-hosts", hosts, ...computed, "--log"];
    const child = spawn(process.execPath, [bin, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let events = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const lines = (events + text).split("\n");
      events = lines.pop()!;
      for (const line of lines) this.#record(JSON.parse(line) as { type: string; requestId: string; finish: string });
    });
    while (!(await this.#isReady())) {
      if (child.exitCode !== null) throw new Error(`replica: expected one that starts, got exit code ${child.exitCode}`);
      await wait(20);
    }
  }

  /** Lets the process end its streams, and returns its exit code. */
  async stop(): Promise<number> {
    const child = this.#process!;
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const [code] = (await ended) as [number];
    return code;
  }

  /** Ends a process that a test which failed has left. */
  [Symbol.dispose](): void {
    this.#process?.kill("SIGKILL");
  }

  #isReady(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.port}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  #record({ type, requestId, finish }: { readonly type: string; readonly requestId: string; readonly finish: string }): void {
    if (type === "finished" && finish !== "cancelled") this.answered.push(requestId);
  }
}
