// Runs core's conformance suite on this machine's GPU without a test runner:
//   node --conditions=@centella/source scripts/conformance.mjs [--device N] [--verbose] [part of a test's name]...
// Exits 1 if a test fails, 2 if there is no CUDA device.
import { parseArgs } from "node:util";
import { cuda } from "@centella/backend-cuda";
import { runConformance } from "@centella/conformance/headless";
import { UnsupportedError } from "@centella/core";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { device: { type: "string", default: "0" }, verbose: { type: "boolean", default: false } },
});

async function open() {
  try {
    return await cuda({ device: Number(values.device) }).open();
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    console.error(error.message);
    return process.exit(2);
  }
}

const backend = await open();
console.log(`conformance of ${backend.name} on ${backend.device.name}`);
const counts = { passed: 0, failed: 0, skipped: 0 };
const start = performance.now();
const filter = (id) => positionals.length === 0 || positionals.some((part) => id.includes(part));
for await (const { id, status, message } of runConformance(backend, { filter })) {
  counts[status]++;
  if (status === "failed" || values.verbose) console.log(`${status}: ${id}${message === "" ? "" : `\n  ${message}`}`);
  // After a fault every later test fails the same way.
  if (status === "failed" && message.includes("DeviceLostError")) break;
}
console.log(
  `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${((performance.now() - start) / 1000).toFixed(1)} s`,
);
await backend.dispose();
process.exitCode = counts.failed > 0 ? 1 : 0;
