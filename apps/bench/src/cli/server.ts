import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeMachine } from "../machine.ts";
import { repositoryFolder } from "../receipts/store.ts";
import { batch } from "../server/batch.ts";
import {
  disconnects,
  firstToken,
  health,
  listening,
  mainThread,
  queued,
  type Reading,
  type Setting,
  sharedPrefix,
  throughput,
} from "../server/figures.ts";
import { writeLongModel } from "../server/longModel.ts";
import { centella, llamaServer, type ServerSubject } from "../server/servers.ts";
import { soak } from "../server/soak.ts";
import { formatTable } from "../table.ts";
import { noPositionals, parse, wholeNumber } from "./options.ts";

const help = `Usage: pnpm bench server [OPTIONS]

Measures \`centella serve\` on the CPU, and what it adds to generating texts without a server. Linux only.

  --peer PATH     measure this llama-server, too
  --model FILE    default: the larger embedded model
  --threads N     of each server (default: 1)
  --rounds N      how often both sides of a comparison take turns (default: 5)
  --soak MINUTES  instead, mixed load with aborts: fails unless memory, sequences and blocks return to their start
  --help          this text`;

const embedded = join(repositoryFolder, "packages/model-fable/models/fable-q4_k_m.gguf");

/** `pnpm bench server [--peer PATH] [--model FILE] [--threads N] [--rounds N] [--soak MINUTES]` */
export async function serverCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    peer: { type: "string" },
    model: { type: "string" },
    threads: { type: "string" },
    rounds: { type: "string" },
    soak: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const { model = embedded, threads = "1", rounds = "5", peer } = values;
  if (values.soak !== undefined) return (await soak(model, wholeNumber("--soak", values.soak, 1, 1440))) ? 0 : 1;
  const folder = mkdtempSync(join(tmpdir(), "centella-server-"));
  const long = join(folder, "long.gguf");
  await writeLongModel(model, 8192, long);
  const shared = { model: long, threads: wholeNumber("--threads", threads, 1, 1024), rounds: wholeNumber("--rounds", rounds, 1, 1000) };
  const subjects = peer === undefined ? [centella] : [centella, llamaServer(peer)];
  const rows = new Map<string, Map<ServerSubject, string>>();
  const bars = new Map<string, string>();
  // The peer has no such thread, start or command.
  const own: readonly unknown[] = [mainThread, listening, batch];
  for (const measure of [firstToken, mainThread, throughput, health, disconnects, queued, sharedPrefix, listening, batch]) {
    for (const subject of subjects) {
      if (own.includes(measure) && subject !== centella) continue;
      const setting: Setting = { ...shared, subject };
      for (const { figure, value, bar = "" } of await measured(measure, setting)) {
        bars.set(figure, bar);
        console.error(`${subject.name}: ${figure}: ${value}`);
        rows.set(figure, (rows.get(figure) ?? new Map<ServerSubject, string>()).set(subject, value));
      }
    }
  }
  rmSync(folder, { recursive: true });
  const { cpu, cores } = describeMachine();
  console.log(`${cpu}, ${cores} cores, ${threads} thread(s) for each server\n`);
  const cells = [...rows].map(([figure, values]) => [figure, ...subjects.map((subject) => values.get(subject) ?? "–"), bars.get(figure)!]);
  const header = ["Figure", ...subjects.map(({ name }) => name), "Bar"];
  console.log(formatTable(header, cells, ["left", ...subjects.map(() => "right" as const), "right"]));
  return 0;
}

/** A figure that a server fails at has the reason as its value. */
async function measured(measure: (setting: Setting) => Promise<readonly Reading[]>, setting: Setting): Promise<readonly Reading[]> {
  try {
    return await measure(setting);
  } catch (error) {
    return [{ figure: measure.name, value: `failed: ${(error as Error).message}` }];
  }
}
