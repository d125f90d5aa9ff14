// Runs seeds of the fuzzer one after the other and reports each: to fuzz.mjs, which started it, or as text.
// node --conditions=@centella/source packages/llm/scripts/fuzzSeeds.mjs FIRST [COUNT]
const [first, count = Number.POSITIVE_INFINITY] = process.argv.slice(2).map(Number);
const { ModelFuzzer } = await import("../test/fuzzModels.ts");
const report = process.send === undefined ? (result) => console.log(result) : (result) => process.send(result);

const fuzzer = await ModelFuzzer.open();
for (let seed = first; seed < first + count; seed++) {
  try {
    report({ seed, outcome: await fuzzer.run(seed) });
  } catch (error) {
    report({ seed, failure: String(error.cause?.stack ?? error.stack) });
  }
}
await fuzzer.dispose();
