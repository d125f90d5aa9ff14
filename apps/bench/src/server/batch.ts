import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "../stats/bootstrap.ts";
import type { Reading, Setting } from "./figures.ts";
import { chatBody, chatPath, wholeChat } from "./requests.ts";
import { cli, modelName, modelOptions, RunningServer, type ServerOptions } from "./servers.ts";

const [chats, tokens] = [1000, 16];
const promptOf = (i: number): string => `Tell me story number ${i} about a fox and an owl.`;

/** Tokens per second of 1,000 chats in a file, and their ratio to those of the same chats through HTTP, as many in flight. */
export async function batch({ subject, model, threads, rounds }: Setting): Promise<readonly Reading[]> {
  const options = { model, threads, context: 1024, sequences: 8 };
  const [inFile, overHttp]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.ceil(rounds / 2); round++) {
    inFile.push(await fileRate(options));
    await using server = await RunningServer.start(subject, options);
    overHttp.push(await httpRate(server, 2 * options.sequences));
  }
  const ratio = median(inFile.map((rate, i) => rate / overHttp[i]!));
  return [
    { figure: "1,000 chats of a file", value: `${median(inFile).toFixed(0)} tokens/s` },
    { figure: "1,000 chats of a file over the same through HTTP", value: ratio.toFixed(2), bar: "≥ 1" },
  ];
}

/** Generated tokens per second of `centella batch`, without loading the model. */
async function fileRate(options: ServerOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "centella-batch-"));
  try {
    const [input, output] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    const lines = Array.from({ length: chats }, (_, i) => ({
      custom_id: String(i),
      method: "POST",
      url: chatPath,
      body: chatBody(promptOf(i), tokens),
    }));
    await writeFile(input, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const files = ["-i", input, "-o", output, "--alias", modelName, "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, [cli, "batch", ...files, ...modelOptions(options), options.model]);
    const { generatedTokens, seconds } = JSON.parse(stdout) as { readonly generatedTokens: number; readonly seconds: number };
    return generatedTokens / seconds;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function httpRate(server: RunningServer, clients: number): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < chats) await wholeChat(server, promptOf(next++), tokens);
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (1000 * chats * tokens) / (performance.now() - startedAt);
}
