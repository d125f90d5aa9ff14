import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRuntime } from "@centella/core";
import { backendsWith } from "../backends.ts";
import {
  calibrationTable,
  machineName,
  measuredTables,
  type StoredCalibration,
  thresholdsFile,
  thresholdsText,
} from "../calibrate/measured.ts";
import { describeCommit } from "../machine.ts";
import { repositoryFolder } from "../receipts/store.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, wholeNumber } from "./options.ts";

/** Backends in order of preference. Each is compared with the next one that runs on the CPU. */
const order = ["cuda", "webgpu", "wasm", "reference"];

const help = `Usage: pnpm bench calibrate [OPTIONS]

Measures from how much work on each backend of this machine is faster than the next one, and says why.

  --budget SECONDS  how long to measure (default: 10)
  --json FILE       store what was measured, for --from on another machine
  --from FILE       take what --json stored instead of measuring
  --write           write the thresholds of the backends that were measured to their packages
  --help            this text`;

/** `pnpm bench calibrate [--budget S] [--json FILE] [--from FILE] [--write]` */
export async function calibrateCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    budget: { type: "string" },
    json: { type: "string" },
    from: { type: "string" },
    write: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  if (values.from !== undefined && values.budget !== undefined) throw new UsageError("calibrate: expected --from or --budget, got both");
  const seconds = wholeNumber("--budget", values.budget ?? "10", 1, 600);
  const stored = values.from === undefined ? await measure(seconds) : read(values.from);
  console.log(calibrationTable(stored.calibration));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(stored, undefined, 1)}\n`);
  if (values.write === true) {
    for (const [backend, table] of measuredTables(stored)) {
      const file = thresholdsFile(backend);
      writeFileSync(file, thresholdsText(table));
      execFileSync("biome", ["format", "--write", file], { cwd: repositoryFolder, stdio: "ignore" });
      console.log(`written: ${file}`);
    }
  }
  return 0;
}

async function measure(seconds: number): Promise<StoredCalibration> {
  const commit = describeCommit(repositoryFolder);
  const factories = order.flatMap((name) =>
    backendsWith(1)
      .filter(({ factory }) => factory.name === name)
      .map(({ factory }) => factory),
  );
  const runtime = await createRuntime({ backends: factories });
  try {
    for (const { name, device } of runtime.backends) console.error(`${name}: ${device.name}`);
    const calibration = await runtime.calibrate({
      budgetMs: 1000 * seconds,
      machine: machineName(),
      onProgress: (done, total, what) => console.error(`${done} of ${total}: ${what}`),
    });
    return { commit, calibration };
  } finally {
    await runtime.dispose();
  }
}

/** @throws {UsageError} if the file cannot be read or is no calibration */
function read(path: string): StoredCalibration {
  try {
    const stored = JSON.parse(readFileSync(path, "utf8")) as StoredCalibration;
    if (typeof stored.commit.sha === "string" && Array.isArray(stored.calibration.comparisons)) return stored;
  } catch (error) {
    throw new UsageError(`${path}: expected a calibration, got ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new UsageError(`${path}: expected what calibrate --json wrote, got other JSON`);
}
