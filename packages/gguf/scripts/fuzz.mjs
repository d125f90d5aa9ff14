// Reads and writes mutated files: node --conditions=@centella/source packages/gguf/scripts/fuzz.mjs [SECONDS] [FIRST SEED] [INPUTS]
// Ends after SECONDS, or after INPUTS where that is given. Exit code 1 for a crash, a hang or too much memory; it names the seed.

const [seconds = 60, first = Date.now() % 2 ** 31, inputs = Number.POSITIVE_INFINITY] = process.argv.slice(2).map(Number);
const roundsPerSeed = 1000;
// Three of four inputs end in an error. Their stacks are not needed, because a failure names its seed.
Error.stackTraceLimit = 0;

// Counts every typed array that is created, even if it is never filled.
let allocated = 0;
for (const name of ["Uint8Array", "Int8Array", "Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "Float32Array", "Float64Array"]) {
  globalThis[name] = new Proxy(globalThis[name], {
    construct(target, args, newTarget) {
      const array = Reflect.construct(target, args, newTarget);
      if (args[0]?.buffer === undefined && !(args[0] instanceof ArrayBuffer)) allocated += array.byteLength;
      return array;
    },
  });
}

const { fuzz, noCounts } = await import("../test/fuzz.ts");
const counts = noCounts();
const before = process.memoryUsage().rss;
const end = performance.now() + 1000 * seconds;
let seed = first;
// Loop conditions of both kinds: the minute in CI is one of time, a long run one of inputs.
const isDone = () => (inputs === Number.POSITIVE_INFINITY ? performance.now() >= end : (seed - first) * roundsPerSeed >= inputs);
console.log(`fuzz: seeds from ${first}`);
for (; !isDone(); seed++) await fuzz(seed, roundsPerSeed, counts, () => allocated);
const peakGrowthMiB = Math.round((process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20);
const slowestMs = Math.round(counts.slowestMs);
console.log(JSON.stringify({ seeds: [first, seed - 1], inputs: (seed - first) * roundsPerSeed, ...counts, slowestMs, peakGrowthMiB }));
