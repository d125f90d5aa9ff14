// Prints what fork and join cost threads that are awake: how much longer a stage with one tile for each of two threads takes than a stage
// with one tile on one thread. Tiles are some µs of the same work, so that both threads have one. Build first.
import { openBackend } from "../dist/backend.js";
import { i32 } from "../dist/emit/index.js";
import { checkOptions } from "../dist/options.js";
import { PlanModule } from "../dist/planModule.js";
import { runListSync } from "../dist/runner.js";
import { recordStep, writeStepList } from "../dist/stepList.js";

const stages = 5_000;
const turns = 4_000;
const samples = 15;
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** µs per stage of `tiles` empty tiles, on the pool's threads or on the caller's alone. */
async function stageMicroseconds(backend, tiles, isShared) {
  const { space, library } = backend.home;
  const module = new PlanModule(space, backend.target, backend.pool);
  const work = module.emit("work", (builder, name) =>
    builder.function(name, { at: "i32", turns: "i32" }, (f, { at, turns: left }) => {
      const x = f.let(i32.const(1));
      f.while(left, () => {
        f.set(x, i32.mul(x, 0x41c64e6d));
        f.advance(left, -1);
      });
      // What nobody looks at would not be computed.
      f.if(i32.eqz(x), () => f.store(at, x));
    }),
  );
  await module.link();
  const task = function* () {
    for (let i = 0; i < stages; i++) yield Array.from({ length: tiles }, () => ({ fn: work, args: [64, turns] }));
  };
  const run = { address: () => 0, shape: () => [], scratch: 0 };
  const list = writeStepList(space.heap, [recordStep(space, task, run)]);
  const { pool } = backend;
  const context = { space, library, pool: undefined, tasks: [task], turns: undefined, lose: () => undefined, onStep: () => undefined };
  const times = [];
  for (let i = 0; i < samples; i++) {
    const start = performance.now();
    if (isShared) await pool.run(space, list.segments[0].list, undefined);
    else runListSync(list, run, context);
    times.push(((performance.now() - start) * 1e3) / stages);
  }
  space.heap.free(list.address);
  module.dispose();
  return { median: median(times), least: Math.min(...times) };
}

const backend = await openBackend(checkOptions({ threads: 2 }));
const rounds = [];
for (let round = 0; round < 5; round++) {
  const one = await stageMicroseconds(backend, 1, false);
  const two = await stageMicroseconds(backend, 2, true);
  rounds.push(two.median - one.median);
  console.log(`one tile, one thread: ${one.median.toFixed(3)} µs; two tiles, two threads: ${two.median.toFixed(3)} µs`);
}
console.log(`fork and join of two threads, awake: ${median(rounds).toFixed(3)} µs`);
await backend.dispose();
