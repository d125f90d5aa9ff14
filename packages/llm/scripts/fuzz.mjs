// Inspects, loads and runs small models with mutated metadata and tensors:
// node --conditions=@centella/source packages/llm/scripts/fuzz.mjs [SECONDS] [FIRST SEED]
// A process of its own does it, within limits of time and memory. Exit code 1 for an error that is none of the library's, a message that
// is not safe to print, a crash, a hang or too much memory; it names the seed. A run of one seed: fuzzSeeds.mjs SEED 1.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";

const [seconds = 30, first = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
/** One file takes milliseconds, on a busy machine a second. */
const hangMs = 20_000;
/** A process takes about 500 MiB: two runtimes, and what has not been collected yet. */
const mostResidentMiB = 2_048;
const mostHeapMiB = 768;
const pollMs = 100;

const end = performance.now() + 1000 * seconds;
const outcomes = {};
const failures = [];
let peakMiB = 0;

console.log(`fuzz: models from seed ${first}`);
let seed = first;
while (performance.now() < end && failures.length < 10) seed = await runFrom(seed);
for (const failure of failures) console.log(failure);
console.log(JSON.stringify({ seeds: [first, seed - 1], outcomes, failures: failures.length, peakMiB }));
process.exitCode = failures.length === 0 ? 0 : 1;

/** Runs seeds in one process until the time is over or one of them fails it; returns the next seed. */
function runFrom(from) {
  const worker = fork(new URL("fuzzSeeds.mjs", import.meta.url), [String(from)], {
    execArgv: ["--conditions=@centella/source", `--max-old-space-size=${mostHeapMiB}`],
  });
  let [current, startedAt, reason] = [from, performance.now(), "the process ended"];
  const kill = (why) => {
    reason = why;
    worker.kill("SIGKILL");
  };
  worker.on("message", ({ seed: done, outcome, failure }) => {
    if (failure === undefined) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    else failures.push(`seed ${done}: ${failure}`);
    [current, startedAt] = [done + 1, performance.now()];
    if (startedAt >= end || failures.length >= 10) kill("done");
  });
  const poll = setInterval(() => {
    const resident = residentMiB(worker.pid);
    peakMiB = Math.max(peakMiB, resident);
    if (resident > mostResidentMiB) kill(`took ${resident} MiB`);
    else if (performance.now() - startedAt > hangMs) kill(`took more than ${hangMs} ms`);
  }, pollMs);
  return new Promise((resolve) => {
    worker.on("close", () => {
      clearInterval(poll);
      if (reason !== "done") failures.push(`seed ${current}: ${reason}`);
      resolve(reason === "done" ? current : current + 1);
    });
  });
}

/** Of a process; 0 where the platform has no /proc. */
function residentMiB(pid) {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024);
  } catch {
    return 0;
  }
}
