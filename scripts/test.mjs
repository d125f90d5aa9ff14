// `npm test [-- options of vitest]`: install, build, run the tests. Files called *.grid.test.ts run a sample of their cases, most
// with CENTELLA_GRID=full, all with CENTELLA_GRID=all.
import { build, install, run } from "./workspace.mjs";

install();
build();
process.exitCode = run(["vitest", "run", ...process.argv.slice(2)]);
if (process.env.CENTELLA_GRID === undefined) {
  console.log("Skipped tests: what this machine has no device or data for, and cases outside of the samples of slow files.");
  console.log("Most cases of these files, about five minutes on four cores: CENTELLA_GRID=full npm test -- .grid.test");
}
