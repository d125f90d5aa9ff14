// Reads and writes mutated files: node --conditions=@centella/source packages/gguf/scripts/fuzz.mjs [SECONDS] [FIRST SEED]
import { fuzz } from "../test/fuzz.ts";

const [seconds = 60, first = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
const roundsPerSeed = 1000;
const counts = { read: 0, refused: {} };
const before = process.memoryUsage().rss;
const end = performance.now() + 1000 * seconds;
let seed = first;
for (; performance.now() < end; seed++) await fuzz(seed, roundsPerSeed, counts);
const peakMiB = (process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20;
console.log(
  JSON.stringify(
    { seeds: [first, seed - 1], inputs: (seed - first) * roundsPerSeed, ...counts, peakGrowthMiB: Math.round(peakMiB) },
    null,
    2,
  ),
);
