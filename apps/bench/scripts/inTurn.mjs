// Prints tokens per second of Centella's WASM and of node-llama-cpp for prompts and depths of choice, in turn in one process. Run it after a
// build and `pnpm bench peers install`:
// node_modules/.bin/node apps/bench/scripts/inTurn.mjs FILE THREADS TEST… [--rounds N]
//
// A TEST is ppN, a prompt of N tokens, or tgN@D: N tokens after D others. Medians of the rounds and the highest, and the ratio's median and
// range. On a machine with other work the highest say most: llama.cpp's threads wait for each other without sleeping.
import { parseArgs } from "node:util";
import { backendsWith } from "../dist/backends.js";
import { oursModel } from "../dist/models/ours.js";
import { nodeLlamaCpp } from "../dist/peers/nodeLlamaCpp.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { rounds: { type: "string", default: "5" } } });
const [file, threadCount, ...tests] = positionals;
const threads = Number(threadCount);
const rounds = Number(values.rounds);
const parsed = tests.map((test) => {
  const [, kind, count, depth] = /^(pp|tg)(\d+)(?:@(\d+))?$/.exec(test) ?? [];
  if (kind === undefined) throw new Error(`inTurn: expected ppN or tgN@D, got ${test}`);
  return { test, kind, count: Number(count), depth: Number(depth ?? 16) };
});
const room = Math.max(...parsed.map(({ kind, count, depth }) => (kind === "pp" ? 0 : depth) + count)) + 1;

const { factory } = backendsWith(threads).find((backend) => backend.factory.name === "wasm");
const peer = await nodeLlamaCpp.open({ threads });
const runners = [await oursModel(factory, threads).open(file, room), await peer.model.open(file, room)];
for (const { test, kind, count, depth } of parsed) {
  const rate = async (runner) => count / (await (kind === "pp" ? runner.prefill(promptOf(count)) : runner.decode(promptOf(depth), count)));
  // The first time compiles kernels, and computes the prompt of a depth.
  for (const runner of runners) await (kind === "pp" ? runner.prefill(promptOf(64)) : rate(runner));
  const rates = [[], []];
  for (let i = 0; i < rounds; i++) {
    for (const side of i % 2 === 0 ? [0, 1] : [1, 0]) rates[side].push(await rate(runners[side]));
  }
  const ratios = rates[0].map((ours, i) => ours / rates[1][i]).sort((a, b) => a - b);
  const [ours, theirs] = rates.map((of) => `${digits(median(of))}, highest ${digits(Math.max(...of))}`);
  const best = Math.max(...rates[0]) / Math.max(...rates[1]);
  console.log(
    `${test.padEnd(10)} ${ours} | ${theirs} | ratio ${median(ratios).toFixed(2)} (${ratios[0].toFixed(2)}–${ratios.at(-1).toFixed(2)}), of the highest ${best.toFixed(2)}`,
  );
}
for (const runner of runners) await runner.dispose();
await peer.dispose();
process.exit();

function promptOf(tokens) {
  return Array.from({ length: tokens }, (_, i) => 5 + ((i * 37) % 4000));
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

function digits(rate) {
  return rate.toPrecision(3).padStart(6);
}
