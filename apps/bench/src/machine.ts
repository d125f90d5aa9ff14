import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { UsageError } from "./usageError.ts";

/** Machine of a run. */
export interface Machine {
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cores: number;
  readonly memoryBytes: number;
  /** Last-level cache as the system reports it; a virtual machine may report its host's. */
  readonly cacheBytes: number | undefined;
  readonly os: string;
  /** Frequency governor, if the system reports it. */
  readonly governor: string | undefined;
  readonly gpus: readonly { readonly name: string; readonly driver: string | undefined }[];
}

/** The code that was measured. */
export interface Commit {
  readonly sha: string;
  /** Whether no file of the repository differs from the commit. */
  readonly isClean: boolean;
}

export function describeMachine(): Machine {
  return {
    cpu: cpuName(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    cacheBytes: cacheBytes(),
    os: `${process.platform} ${process.arch} ${release()}`,
    governor: firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    gpus: gpus(),
  };
}

/** Folder name of a machine's receipts, e.g. `amd-epyc-9555-2c`. */
export function machineSlug({ cpu, cores, gpus: [gpu] }: Machine): string {
  const parts = [cpu.replace(/\((?:R|TM)\)|processor|cpu|@.*$|\d+-core/gi, " "), `${cores}c`, ...(gpu === undefined ? [] : [gpu.name])];
  return parts
    .join(" ")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/**
 * Commit of the repository that contains `folder`. For a copy without git, `BENCH_COMMIT` has the output of
 * `git describe --always --dirty --abbrev=40 --exclude='*'` from the original.
 *
 * @throws {Error} without git and `BENCH_COMMIT`
 */
export function describeCommit(folder: string): Commit {
  const told = process.env.BENCH_COMMIT;
  if (told !== undefined) {
    const [, sha, dirty] = /^([0-9a-f]{40})(-dirty)?$/.exec(told) ?? [];
    if (sha === undefined) throw new UsageError(`BENCH_COMMIT: expected 40 hexadecimal digits, then perhaps -dirty, got "${told}"`);
    return { sha, isClean: dirty === undefined };
  }
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  return { sha: git("rev-parse", "HEAD"), isClean: git("status", "--porcelain") === "" };
}

/** Whether a commit is an ancestor of main; undefined if this clone lacks the history. */
export function isAncestor(folder: string, sha: string): boolean | undefined {
  const main = mainRef(folder);
  if (main === undefined) return undefined;
  if (gitSucceeds(folder, "merge-base", "--is-ancestor", sha, main)) return true;
  const isShallow = execFileSync("git", ["rev-parse", "--is-shallow-repository"], { cwd: folder, encoding: "utf8" }).trim() === "true";
  return isShallow ? undefined : false;
}

/** Name of main in this clone. Another branch may be checked out, and the clone of a clone has main only as a remote branch. */
export function mainRef(folder: string): string | undefined {
  return ["main", "origin/main", "HEAD"].find((ref) => gitSucceeds(folder, "rev-parse", "--verify", "--quiet", ref));
}

function gitSucceeds(folder: string, ...args: string[]): boolean {
  try {
    execFileSync("git", args, { cwd: folder, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Hypervisors hide the marketing name; family and model then distinguish machines. */
function cpuName(): string {
  const name = cpus()[0]?.model.trim() ?? "unknown CPU";
  const info = read("/proc/cpuinfo");
  const field = (key: string): string | undefined => info?.match(new RegExp(`^${key}\\s*:\\s*(.+)$`, "m"))?.[1];
  const [family, model] = [field("cpu family"), field("model")];
  return /\d{3,}/.test(name) || family === undefined ? name : `${name} family ${family} model ${model}`;
}

function cacheBytes(): number | undefined {
  const sizes = [0, 1, 2, 3, 4].map((index) => firstLine(`/sys/devices/system/cpu/cpu0/cache/index${index}/size`));
  const bytes = sizes.flatMap((size) => (size === undefined ? [] : [Number.parseInt(size, 10) * (size.endsWith("M") ? 2 ** 20 : 2 ** 10)]));
  return bytes.length === 0 ? undefined : Math.max(...bytes);
}

function gpus(): Machine["gpus"] {
  try {
    const lines = execFileSync("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return lines
      .trim()
      .split("\n")
      .map((line) => line.split(", "))
      .map(([name, driver]) => ({ name: name!, driver }));
  } catch {
    return [];
  }
}

function firstLine(path: string): string | undefined {
  return read(path)?.split("\n")[0];
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
