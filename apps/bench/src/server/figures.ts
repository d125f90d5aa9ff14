import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { median } from "../stats/bootstrap.ts";
import { InProcess } from "./inProcess.ts";
import { chat, isBusy, type Streamed, streamChat } from "./requests.ts";
import { listeningMs, RunningServer, type ServerOptions, type ServerSubject } from "./servers.ts";

/** A measured value. */
export interface Reading {
  readonly figure: string;
  readonly value: string;
  /** What the value should be. */
  readonly bar?: string;
}

/** What a figure is measured on. */
export interface Setting {
  readonly subject: ServerSubject;
  /** A model with a context of 8,192 tokens. */
  readonly model: string;
  readonly threads: number;
  /** How often each side of a comparison is measured, in turns. */
  readonly rounds: number;
}

const story = (i: number): string => `Tell me story number ${i} about a fox and an owl.`;

const optionsOf = ({ model, threads }: Setting, context: number, sequences: number): ServerOptions => ({
  model,
  threads,
  context,
  sequences,
});

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;
const percentiles = (values: readonly number[]): string => `p50 ${ms(median(values))}, p99 ${ms(quantile(values, 0.99))}`;

/** Short requests before the first measured one: JavaScript is compiled while it runs. */
const warmUps = 1000;

/** Time to the first token, and above that without a server. */
export async function firstToken(setting: Setting): Promise<readonly Reading[]> {
  const options = optionsOf(setting, 1024, 1);
  const [requests, tokens] = [100, 40];
  await using server = await RunningServer.start(setting.subject, options);
  await using own = await InProcess.open(options);
  for (let i = 0; i < warmUps; i++) {
    await streamChat(server, story(i), 2);
    await own.generate(story(i), 2);
  }
  const [served, alone]: [number[], number[]] = [[], []];
  for (let i = warmUps; i < warmUps + setting.rounds * requests; i++) {
    served.push((await streamChat(server, story(i), tokens)).firstMs);
    alone.push((await own.generate(story(i), tokens)).firstMs);
  }
  const above = (share: number): string => ms(quantile(served, share) - quantile(alone, share));
  return [
    { figure: "time to first token, 1 client", value: percentiles(served) },
    { figure: "time to first token above in-process", value: `p50 ${above(0.5)}, p99 ${above(0.99)}`, bar: "≤ 2, 8 ms" },
  ];
}

/**
 * CPU time of the server's main thread for each token, above that without a server. The main thread writes and chooses tokens, and another one
 * computes the model.
 */
export async function mainThread(setting: Setting): Promise<readonly Reading[]> {
  const options = optionsOf(setting, 1024, 8);
  const tokens = 200;
  await using server = await RunningServer.start(setting.subject, options);
  await using own = await InProcess.open(options);
  const readings: Reading[] = [];
  for (const streams of [1, 8]) {
    const perToken = async (cpuMicros: () => number, generate: (prompt: string) => Promise<unknown>): Promise<number> => {
      const before = cpuMicros();
      for (let i = 0; i < 8; i += streams) await Promise.all(Array.from({ length: streams }, (_, k) => generate(story(i + k))));
      return (cpuMicros() - before) / (8 * tokens);
    };
    const above: number[] = [];
    for (let round = 0; round <= setting.rounds; round++) {
      const served = await perToken(
        () => server.mainThreadMicros,
        (prompt) => streamChat(server, prompt, tokens),
      );
      const alone = await perToken(
        () => process.threadCpuUsage().user + process.threadCpuUsage().system,
        (prompt) => own.generate(prompt, tokens),
      );
      // The first round warms up.
      if (round > 0) above.push(served - alone);
    }
    const value = `${median(above).toFixed(0)} µs`;
    readings.push({ figure: `CPU time per token above in-process, ${streams} × ${tokens} tokens`, value, bar: "≤ 30 µs" });
  }
  return readings;
}

/** Tokens per second of 8 streams, and their ratio to those without a server. */
export async function throughput(setting: Setting): Promise<readonly Reading[]> {
  const options = optionsOf(setting, 1024, 8);
  const [streams, tokens] = [8, 100];
  await using server = await RunningServer.start(setting.subject, options);
  await using own = await InProcess.open(options);
  const rate = async (generate: (prompt: string) => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: streams }, (_, i) => generate(story(i))));
    return (1000 * streams * tokens) / (performance.now() - startedAt);
  };
  const [served, alone]: [number[], number[]] = [[], []];
  for (let round = 0; round <= setting.rounds; round++) {
    const pair = [
      await rate((prompt) => streamChat(server, prompt, tokens)),
      await rate((prompt) => own.generate(prompt, tokens)),
    ] as const;
    if (round === 0) continue;
    served.push(pair[0]);
    alone.push(pair[1]);
  }
  const ratio = median(served.map((value, i) => value / alone[i]!));
  return [
    { figure: "8 streams", value: `${median(served).toFixed(0)} tokens/s` },
    { figure: "8 streams over Centella in-process", value: ratio.toFixed(2), bar: "≥ 0.97" },
  ];
}

/** Latency of `/health` while a prompt of 4,096 tokens is computed. */
export async function health(setting: Setting): Promise<readonly Reading[]> {
  await using server = await RunningServer.start(setting.subject, optionsOf(setting, 8192, 1));
  const latencies: number[] = [];
  for (let round = 0; round < Math.ceil(setting.rounds / 2); round++) {
    let isDone = false;
    const prompt = `${round} ${"Once upon a time a fox met an owl. ".repeat(450)}`.slice(0, 4096 * 4);
    const streamed = streamChat(server, prompt, 1).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const startedAt = performance.now();
      await (await fetch(`${server.url}/health`)).text();
      latencies.push(performance.now() - startedAt);
      await wait(5);
    }
    const { counts } = await streamed;
    if (counts.prompt < 4000) throw new Error(`health: expected a prompt of 4,000 tokens, got ${counts.prompt}`);
  }
  return [{ figure: "/health while a prompt of 4,096 tokens is computed", value: percentiles(latencies), bar: "p99 ≤ 50 ms" }];
}

/** Time from a client's disconnect in mid-stream until its slot is free, and the time of a step. */
export async function disconnects(setting: Setting): Promise<readonly Reading[]> {
  await using server = await RunningServer.start(setting.subject, optionsOf(setting, 1024, 4));
  const { totalMs, firstMs } = await streamChat(server, story(0), 200);
  const step = (totalMs - firstMs) / 199;
  const times: number[] = [];
  const warmUps = 50;
  for (let i = 0; i < warmUps + 20 * setting.rounds; i++) {
    const controller = new AbortController();
    const response = await chat(server, story(i), 800, controller.signal);
    await once(response, "data");
    response.on("error", () => undefined);
    const startedAt = performance.now();
    controller.abort();
    while (await isBusy(server));
    // Includes an answer that says so, and up to one before it.
    if (i >= warmUps) times.push(performance.now() - startedAt);
  }
  return [
    { figure: "disconnect until the slot is free", value: `${percentiles(times)} (a step is ${ms(step)})`, bar: "p99 ≤ a step + 10 ms" },
  ];
}

/** Memory of 1,000 streams that wait in the queue, above the idle server. */
export async function queued(setting: Setting): Promise<readonly Reading[]> {
  await using server = await RunningServer.start(setting.subject, optionsOf(setting, 8192, 1));
  // Warms up. The long text touches the cache's memory, which the running text would do otherwise.
  await Promise.all(Array.from({ length: 20 }, (_, i) => streamChat(server, story(i), 20)));
  await streamChat(server, story(0), 8000);
  const controller = new AbortController();
  const running = streamChat(server, story(0), 8000).catch(() => undefined);
  await wait(500);
  const idle = server.residentBytes;
  const waiting = Array.from({ length: 1000 }, (_, i) => chat(server, story(i), 10, controller.signal).catch(() => undefined));
  await wait(3000);
  const used = server.residentBytes - idle;
  controller.abort();
  await Promise.all(waiting);
  await Promise.race([running, wait(0)]);
  return [{ figure: "memory of 1,000 queued streams", value: `${(used / 2 ** 20).toFixed(0)} MiB`, bar: "≤ 64 MB" }];
}

/** Prompt tokens that 32 clients with a common beginning of 2,000 tokens cause to be computed. */
export async function sharedPrefix(setting: Setting): Promise<readonly Reading[]> {
  const options = optionsOf(setting, 4096, 8);
  await using server = await RunningServer.start(setting.subject, options);
  await using own = await InProcess.open(options);
  const [clients, prefix] = [32, "Once upon a time a fox met an owl. ".repeat(225)];
  const answers: readonly Streamed[] = await Promise.all(
    Array.from({ length: clients }, (_, i) => streamChat(server, `${prefix}${story(i)}`, 8)),
  );
  const total = answers.reduce((sum, { counts }) => sum + counts.prompt, 0);
  const computed = answers.reduce((sum, { counts }) => sum + counts.prompt - counts.cached, 0);
  // The common part once, and the rest of each prompt.
  const least = total - (clients - 1) * own.tokensOf(prefix);
  return [{ figure: "32 prompts with 2,700 tokens in common: tokens computed", value: `${computed} of ${total}`, bar: `≤ ${least}` }];
}

/** Time from the start of the process until it listens. */
export async function listening(setting: Setting): Promise<readonly Reading[]> {
  const times: number[] = [];
  for (let i = 0; i < 2 * setting.rounds; i++) times.push(await listeningMs(optionsOf(setting, 1024, 1)));
  return [{ figure: "start to listening, without the model", value: `median ${ms(median(times))}`, bar: "≤ 300 ms" }];
}
