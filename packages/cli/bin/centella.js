#!/usr/bin/env node
// Committed so that the link exists before the first build; the command itself is dist/main.js.
import { existsSync } from "node:fs";

const entry = new URL("../dist/main.js", import.meta.url);
if (existsSync(entry)) {
  void import(entry.href);
} else {
  console.error("centella: not built yet; run `pnpm build` (or `npm start`, which builds) first");
  process.exitCode = 1;
}
