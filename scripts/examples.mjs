// `node scripts/examples.mjs [options of vitest]`: installs the examples, which are a workspace of their own, and starts and tests each.
import { build, install, installWorkspace, run } from "./workspace.mjs";

install();
build();
// Next is installed by a test of its own, outside of the workspace.
installWorkspace("examples", ["--filter", "!next-chat"]);
process.exitCode =
  run(["tsc", "-p", "examples"]) || run(["vitest", "run", "--config", "examples/vitest.config.ts", ...process.argv.slice(2)]);
