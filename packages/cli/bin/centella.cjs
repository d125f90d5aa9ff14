#!/usr/bin/env node
// Committed so that the link exists before the first build; the command itself is dist/start.cjs. Not a module: Node takes 10 ms to start
// its loader of modules. Nothing here may need a newer Node than the one that is told so.
const { existsSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

const entry = join(__dirname, "../dist/start.cjs");
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 12)) {
  console.error(`centella: expected Node 22.12 or newer, got ${process.versions.node}; install a newer one`);
  process.exitCode = 1;
} else if (existsSync(entry)) {
  // Of modules that were compiled before, Node reads what it made of them then, from its folder among the temporary files.
  enableCompileCache();
  require(entry);
} else {
  console.error("centella: not built yet; run `pnpm build` (or `npm start`, which builds) first");
  process.exitCode = 1;
}
