import { wasm } from "@centella/backend-wasm";
import { reference } from "@centella/core";
import { measureRows, quickSettings } from "./src/runner/measure.ts";
import { estimateMedian } from "./src/stats/bootstrap.ts";
import { elementwise } from "./src/suites/elementwise.ts";
import { matmul } from "./src/suites/matmul.ts";
import { quantized } from "./src/suites/quantized.ts";
import { ours } from "./src/tasks/ours.ts";

const w = await wasm().open();
const r = await reference().open();
for (const suite of [matmul, elementwise, quantized]) {
  const t = performance.now();
  const rows = suite.rows({
    kind: "cpu",
    backends: [w],
    factories: [],
    competitors: [ours(w, 1)],
    modelCompetitors: [],
    models: [],
    quick: true,
    memoryBytes: 256 * 2 ** 20,
  });
  const m = await measureRows(rows, quickSettings);
  for (const { row, outcomes } of m)
    for (const { contestant, outcome } of outcomes) {
      if (outcome.status !== "measured") {
        console.log(row.id, contestant.name, outcome.reason);
        continue;
      }
      const e = estimateMedian(outcome.passes, 1);
      console.log(
        row.id,
        contestant.name,
        row.data,
        outcome.calls,
        (e.median * 1e6).toFixed(1) + "µs",
        (e.low * 1e6).toFixed(1),
        (e.high * 1e6).toFixed(1),
        row.work.flops ? (row.work.flops / e.median / 1e9).toFixed(1) + " GF" : "",
        (row.work.bytes! / e.median / 1e9).toFixed(1) + " GB/s",
      );
    }
  console.log(suite.name, ((performance.now() - t) / 1e3).toFixed(1), "s");
}
