// Pulls from a faulty server, many times: node --conditions=@centella/source packages/gguf/scripts/faults.mjs [RUNS] [FIRST SEED]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFaults } from "../test/faultyHub.ts";

const [runs = 200, first = 1] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), "centella-faults-"));
const totals = { runs, pulls: 0, aborts: 0, resumed: 0, resumedBytes: 0, slowestAbortMs: 0, violations: 0 };
const byFault = {};
for (let seed = first; seed < first + runs; seed++) {
  const run = await runFaults(seed, folder);
  totals.pulls += run.pulls;
  totals.aborts += run.aborts;
  totals.resumed += run.resumed;
  totals.resumedBytes += run.resumedBytes;
  totals.slowestAbortMs = Math.max(totals.slowestAbortMs, run.slowestAbortMs);
  totals.violations += run.violations.length;
  for (const fault of run.faults) byFault[fault] = (byFault[fault] ?? 0) + 1;
  for (const violation of run.violations) console.log(`seed ${seed}: ${violation}`);
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify({ ...totals, byFault }, null, 2));
process.exitCode = totals.violations === 0 ? 0 : 1;
