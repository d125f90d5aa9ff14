// `npm test [-- options of vitest]`: install, build, run every test.
import { build, install, run } from "./workspace.mjs";

install();
build();
process.exitCode = run(["vitest", "run", ...process.argv.slice(2)]);
