import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { repositoryFolder } from "../receipts/store.ts";

/** How a server is started. */
export interface ServerOptions {
  readonly model: string;
  /** Of each sequence, in tokens. */
  readonly context: number;
  readonly sequences: number;
  readonly threads: number;
}

/** A server to measure. */
export interface ServerSubject {
  readonly name: string;
  command(options: ServerOptions, port: number): readonly [path: string, ...args: string[]];
}

/** Name of the model in requests. */
export const modelName = "measured";

/** Path of the CLI's script. */
export const cli: string = join(repositoryFolder, "packages/cli/bin/centella.cjs");

/** Options of the CLI that say how a model is computed. */
export const modelOptions = ({ context, sequences, threads }: ServerOptions): readonly string[] => [
  ...["--backend", "wasm", "--threads", String(threads), "--ctx-size", String(context), "--sequences", String(sequences)],
];

export const centella: ServerSubject = {
  name: "centella serve",
  command: (options, port) => [
    process.execPath,
    cli,
    ...["serve", `${modelName}=${options.model}`, "--port", String(port), "--max-queue", "2000", ...modelOptions(options)],
  ],
};

/** llama.cpp's server of this path. */
export const llamaServer = (path: string): ServerSubject => ({
  name: "llama-server",
  command: ({ model, context, sequences, threads }, port) => [
    path,
    ...["-m", model, "--alias", modelName, "--port", String(port), "-t", String(threads), "-tb", String(threads)],
    // Its context is that of all slots together.
    ...["-c", String(context * sequences), "-np", String(sequences), "-ngl", "0", "--slots"],
  ],
});

/** A server that runs. */
export class RunningServer implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  static async start(subject: ServerSubject, options: ServerOptions): Promise<RunningServer> {
    const port = await freePort();
    const server = new RunningServer(subject.command(options, port), port);
    while (!(await server.#isReady())) await wait(20);
    return server;
  }

  private constructor([path, ...args]: readonly [string, ...string[]], port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#process = spawn(path, args, { stdio: "ignore" });
    this.#ended = once(this.#process, "close");
  }

  /** Resident memory in bytes. */
  get residentBytes(): number {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#process.pid}/status`, "utf8")) ?? [];
    return Number(kib) * 1024;
  }

  /** CPU time of the main thread so far, in microseconds. */
  get mainThreadMicros(): number {
    const { pid } = this.#process;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  async #isReady(): Promise<boolean> {
    if (this.#process.exitCode !== null) throw new Error(`server: expected one that starts, got exit code ${this.#process.exitCode}`);
    return fetch(`${this.url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

/** Milliseconds from the start of a server without its model to listening. */
export async function listeningMs(options: ServerOptions): Promise<number> {
  const [path, ...args] = centella.command(options, 0);
  const startedAt = performance.now();
  const child = spawn(path, [...args, "--lazy"], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  const ms = performance.now() - startedAt;
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
  return ms;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
