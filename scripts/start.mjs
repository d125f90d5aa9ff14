// `npm start [-- options of centella run]`: install, build, tell a story.
import { build, install, run } from "./workspace.mjs";

install();
build();
process.exitCode = run(["node", "packages/cli/bin/centella.cjs", "run", ...process.argv.slice(2)]);
