// `node scripts/docs.mjs`: installs the documentation site, which is a workspace of its own, and builds it with the playground to
// apps/docs/dist.
import { build, install, installWorkspace, run } from "./workspace.mjs";

install();
build();
installWorkspace("apps/docs");
process.exitCode = run(["pnpm", "--filter", "@centella/playground", "pages"]) || run(["pnpm", "--dir", "apps/docs", "build"]);
