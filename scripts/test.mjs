// `npm test [-- options of vitest]`: install, build, run the tests. Files called *.grid.test.ts run a sample of their cases, all
// with CENTELLA_GRID=all.
import { build, install, run } from "./workspace.mjs";

install();
build();
process.exitCode = run(["vitest", "run", ...process.argv.slice(2)]);
if (process.env.CENTELLA_GRID === undefined) {
  console.log("Skipped tests: what this machine has no device or data for, and cases outside of the samples of slow files.");
  console.log("All cases of these files, an hour or more: CENTELLA_GRID=all npm test -- .grid.test");
}
