// Mutation testing of the selection and the compiler passes, which decide where and how programs are computed. Each mutant is one edit
// (a flipped comparison, a negated condition, a dropped guard), and core's tests should fail on it. It takes minutes and runs outside CI:
//   node scripts/mutate.mjs [--write] [--only NAME] [--list]
// `--write` puts the result into docs/mutation.md.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const source = "packages/core/src";
const passes = readdirSync(join(root, source, "compiler/passes")).map((file) => `${source}/compiler/passes/${file}`);
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : "";
const files = [`${source}/runtime/select.ts`, ...passes].filter((file) => file.includes(only));
/** Tests that should fail, in stages: the first one is fast and catches most mutants. */
const stagesOf = (file) =>
  file?.endsWith("select.ts")
    ? [{ names: ["select", "policy", "sync", "runtime"] }]
    : [
        { names: ["passes", "fusion", "lower", "siblings", "fuseScans", "groupResults"] },
        { names: ["conformance"], filter: "^backend reference .*program: " },
      ];
const timeoutMs = 120_000;

/** Edits of code whose strings and comments are blanked: they replace the first group of the pattern, or the whole match. */
const edits = [
  { kind: "comparison", pattern: /(?<![=<>!])(===|!==|<=|>=)(?!=)/g, to: { "===": "!==", "!==": "===", "<=": "<", ">=": ">" } },
  { kind: "comparison", pattern: / ([<>]) /g, to: { "<": "<=", ">": ">=" } },
  { kind: "logic", pattern: / (&&|\|\|) /g, to: { "&&": "||", "||": "&&" } },
  { kind: "logic", pattern: /(?<=[(\s&|?:])(!)(?=[A-Za-z(])/g, to: { "!": "" } },
  { kind: "constant", pattern: /\b(true|false)\b/g, to: { true: "false", false: "true" } },
  { kind: "quantifier", pattern: /\.(every|some)\(/g, to: { every: "some", some: "every" } },
  { kind: "extreme", pattern: /Math\.(min|max)\(/g, to: { min: "max", max: "min" } },
  { kind: "offset", pattern: /([+-]) 1\b/g, to: { "+": "-", "-": "+" } },
  { kind: "guard dropped", pattern: /^ *(if \(.*\) (?:continue|return|throw|break)\b.*;)$/gm, to: () => "" },
  { kind: "statement dropped", pattern: /^ *([A-Za-z_.#]+\.(?:add|set|delete|push)\(.*\);)$/gm, to: () => "" },
];

/** TypeScript with types, comments, strings and templates blanked, every place kept. */
function blanked(code) {
  const js = stripTypeScriptTypes(code, { mode: "strip" });
  return js.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, (text) => text.replace(/[^\n]/g, "·"));
}

function mutantsOf(file) {
  const code = readFileSync(join(root, file), "utf8");
  const plain = blanked(code);
  return edits
    .flatMap(({ kind, pattern, to }) =>
      [...plain.matchAll(pattern)].map((match) => {
        const was = match[1];
        const start = match.index + match[0].indexOf(was);
        const text = typeof to === "function" ? to(was) : to[was];
        const line = code.slice(0, start).split("\n").length;
        return {
          file,
          kind,
          line,
          start,
          end: start + was.length,
          text,
          was: code.slice(start, start + was.length),
          of: code.split("\n")[line - 1].trim(),
        };
      }),
    )
    .sort((a, b) => a.start - b.start);
}

/** Whether the tests pass with a mutant, i.e. did not notice it. */
async function survives(mutant) {
  for (const stage of stagesOf(mutant.file)) if (!(await passesStage(mutant, stage))) return false;
  return true;
}

function passesStage(mutant, { names, filter }) {
  return new Promise((done) => {
    const paths = names.map((name) => `packages/core/test/${name}.test.ts`);
    const flags = ["--bail", "1", "--reporter", "dot", "--maxWorkers", "1", ...(filter === undefined ? [] : ["-t", filter])];
    const args = ["run", "--config", "scripts/mutation/vitest.config.ts", "--root", ".", ...flags, ...paths];
    const env = { ...process.env, MUTANT: JSON.stringify(mutant) };
    const child = spawn(join(root, "node_modules/.bin/vitest"), args, { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    child.stdout.on("data", (text) => {
      output += text;
    });
    const timer = setTimeout(() => child.kill(), timeoutMs);
    child.on("exit", (code) => {
      clearTimeout(timer);
      // A filter that matches no test would let everything pass.
      if (code === 0 && !/\d+ passed/.test(output)) throw new Error(`mutate: no test ran of ${names.join(", ")}`);
      done(code === 0);
    });
  });
}

const all = files.flatMap(mutantsOf);
if (process.argv.includes("--list")) {
  for (const { file, line, kind, was, text } of all) console.log(`${file}:${line} ${kind}: ${was} -> ${text || "(nothing)"}`);
  console.log(`${all.length} mutants`);
  process.exit(0);
}
if (!(await survives({ start: 0, end: 0, text: "" }))) throw new Error("mutate: the tests fail without any mutant");
const survivors = [];
const queue = [...all.keys()];
let done = 0;
async function worker() {
  for (let i = queue.shift(); i !== undefined; i = queue.shift()) {
    const mutant = all[i];
    const alive = await survives(mutant);
    done++;
    if (alive) survivors.push(mutant);
    console.log(
      `${done}/${all.length} ${alive ? "SURVIVED" : "caught"} ${mutant.file}:${mutant.line} ${mutant.kind}: ${mutant.was} -> ${mutant.text || "(nothing)"}`,
    );
  }
}
await Promise.all(Array.from({ length: Math.max(1, availableParallelism() >> 1) }, worker));
survivors.sort((a, b) => (a.file === b.file ? a.start - b.start : a.file < b.file ? -1 : 1));

if (process.argv.includes("--write")) writeFileSync(join(root, "docs/mutation.md"), report());
process.exitCode = 0;

function report() {
  const kinds = [...new Set(all.map(({ kind }) => kind))];
  const countIn = (list, key, value) => list.filter((mutant) => mutant[key] === value).length;
  const row = (key, value) =>
    `| ${value.replace(`${source}/`, "")} | ${countIn(all, key, value)} | ${countIn(all, key, value) - countIn(survivors, key, value)} |`;
  const share = ((100 * (all.length - survivors.length)) / all.length).toFixed(1);
  return [
    "# Mutation testing of the selection and the passes",
    "",
    "Each mutant is one edit of the selection or of a compiler pass, such as a flipped comparison or a dropped guard. Core's tests",
    `should fail on it. On ${new Date().toISOString().slice(0, 10)} they caught ${all.length - survivors.length} of ${all.length} mutants (${share} %).`,
    "",
    "`node scripts/mutate.mjs --write` writes this page. It takes minutes and runs outside CI.",
    "",
    "| edit | mutants | caught |",
    "| --- | ---: | ---: |",
    ...kinds.map((kind) => row("kind", kind)),
    "",
    "| file | mutants | caught |",
    "| --- | ---: | ---: |",
    ...files.map((file) => row("file", file)),
    "",
    "## Mutants that are not caught",
    "",
    ...survivors.map(
      ({ file, line, was, text, of }) =>
        `- \`${file.replace(`${source}/`, "")}:${line}\`: \`${was}\` → ${text === "" ? "nothing" : `\`${text}\``} in \`${of}\``,
    ),
    "",
  ].join("\n");
}
