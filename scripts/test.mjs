// `npm test [-- options of vitest]`: install, build, run every test. The whole suite runs in three stages that say how long they took.
import { build, install, run } from "./workspace.mjs";

const stages = [
  ["conformance in Node: all cases", ["conformance.test"]],
  ["conformance in Chromium: a sample", ["/chromium.test"]],
  ["all other tests", ["--exclude", "**/conformance.test.ts", "--exclude", "**/chromium.test.ts"]],
];

install();
build();
const options = process.argv.slice(2);
if (options.length > 0) process.exitCode = run(["vitest", "run", ...options]);
else {
  const times = [];
  for (const [name, args] of stages) {
    const start = Date.now();
    console.log(`== ${name}`);
    process.exitCode = run(["vitest", "run", ...args]) || process.exitCode;
    times.push(`${String(Math.round((Date.now() - start) / 1000)).padStart(5)} s  ${name}`);
  }
  console.log(`\n${times.join("\n")}`);
}
