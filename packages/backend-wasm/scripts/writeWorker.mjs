// Writes the program of the worker threads into dist/threads/workerSource.js as text.
import { readFileSync, writeFileSync } from "node:fs";
import { workerMain } from "../dist/threads/worker.js";

const to = new URL("../dist/threads/workerSource.js", import.meta.url);
const text = `export const workerSource = ${JSON.stringify(`(${workerMain.toString()})()`)};\n`;
// An untouched file keeps its time, for builds that look at it.
if (readFileSync(to, "utf8") !== text) writeFileSync(to, text);
