// Writes the program of the worker threads into build/esm/threads/workerSource.js as text, minified: bundlers leave text as it is.
import { readFileSync, writeFileSync } from "node:fs";
import { minifySync } from "rolldown/utils";
import { workerMain } from "../build/esm/threads/worker.js";

const to = new URL("../build/esm/threads/workerSource.js", import.meta.url);
const { code, errors } = minifySync("worker.js", `(${workerMain.toString()})()`);
if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"));
const text = `export const workerSource = ${JSON.stringify(code)};\n`;
// An untouched file keeps its time, for builds that look at it.
if (readFileSync(to, "utf8") !== text) writeFileSync(to, text);
