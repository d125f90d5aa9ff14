// Runs two suites of JSON Schemas and prints what is compiled, accepted and rejected, as a Markdown table.
//
//   node --conditions=@centella/source packages/grammar/scripts/schemas.mjs [--list] [--every 1]
//
// The suites are read from $CENTELLA_SHARED/data/schemas (default: ../shared beside the repository): the JSON-Schema-Test-Suite and a sample
// of MaskBench. An instance is accepted if the grammar matches its text as a whole, byte by byte. As texts differ in their white space and
// their order of properties, the options follow the suites:
//
// - JSON-Schema-Test-Suite: `JSON.stringify(instance)` with `order: "any"`: its instances have properties in any order.
// - MaskBench: the text that its own runner uses (Python's `json.dumps`, with a space after each comma and colon) with `whitespace: "any"`.
//   The order of properties is the schema's: MaskBench has reordered its instances that way.
//
// With --list, every schema that is refused and every instance with a wrong verdict is printed. `--every n` takes every n-th schema.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile, fromJsonSchema, GrammarError, vocabulary } from "@centella/grammar";

const root = join(process.env.CENTELLA_SHARED ?? join(import.meta.dirname, "../../../../shared"), "data/schemas");
const { values } = parseArgs({ options: { list: { type: "boolean", default: false }, every: { type: "string", default: "1" } } });
const isListing = values.list;
const every = Number(values.every);
const encoder = new TextEncoder();
const tokenBytes = 8;
const byteVocabulary = vocabulary(
  Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  {},
);

if (!existsSync(root)) {
  console.error(`schemas: expected the suites in ${root}; set CENTELLA_SHARED to the folder that has data/schemas`);
  process.exit(1);
}

/** Groups of one draft of the JSON-Schema-Test-Suite. */
function testSuite(draft, metaschema) {
  const folder = join(root, "json-schema-test-suite", draft);
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.flatMap((file) =>
    JSON.parse(readFileSync(join(folder, file), "utf8")).map(({ description, schema, tests }) => ({
      name: `${file}: ${description}`,
      schema: typeof schema === "object" && schema.$schema === undefined ? { $schema: metaschema, ...schema } : schema,
      tests: tests.map(({ data, valid }) => ({ text: JSON.stringify(data), valid })),
    })),
  );
}

function maskBench() {
  const lines = readFileSync(join(root, "maskbench-sample.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const { name, schema } = JSON.parse(line);
    // Numbers keep their notation: `1.0` and `1` are different texts.
    const { tests } = JSON.parse(line, (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value));
    return { name, schema, tests: tests.map(({ data, valid }) => ({ text: spaced(data), valid })) };
  });
}

/** JSON as Python's `json.dumps` writes it. */
function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
    .join(", ")}}`;
}

/** Compiles all schemas and judges their instances. */
function run(all, options) {
  const cases = all.filter((_, i) => i % every === 0);
  const result = { schemas: cases.length, compiled: 0, right: 0, valid: 0, rejected: 0, invalid: 0, accepted: 0, times: [] };
  for (const { name, schema, tests } of cases) {
    const accepts = compiled(name, schema, options, tests, result);
    if (accepts === undefined) continue;
    result.compiled++;
    let isRight = true;
    for (const { text, valid } of tests) {
      result[valid ? "valid" : "invalid"]++;
      if (accepts(text) === valid) continue;
      isRight = false;
      result[valid ? "rejected" : "accepted"]++;
      if (isListing) console.log(`${valid ? "rejected" : "ACCEPTED"}  ${name}  ${text.slice(0, 200)}`);
    }
    if (isRight) result.right++;
  }
  return result;
}

/** What the schema accepts, or undefined if it is refused. A schema that no value meets is refused, and right if no test is valid. */
function compiled(name, schema, options, tests, { times }) {
  const start = performance.now();
  try {
    const constraint = compile(fromJsonSchema(schema, options), byteVocabulary);
    times.push(performance.now() - start);
    return (text) => {
      const matcher = constraint.matcher();
      const bytes = encoder.encode(text);
      // The budget is one of each call: a token has a few bytes.
      for (let i = 0; i < bytes.length; i += tokenBytes) if (!matcher.acceptBytes(bytes.subarray(i, i + tokenBytes))) return false;
      return matcher.isComplete;
    };
  } catch (error) {
    times.push(performance.now() - start);
    if (!(error instanceof GrammarError)) throw error;
    if (error.code === "GRAMMAR_EMPTY" && tests.every(({ valid }) => !valid)) return () => false;
    if (isListing) console.log(`refused   ${name}  ${error.message}`);
    return undefined;
  }
}

function row(name, { schemas, compiled, right, valid, rejected, invalid, accepted, times }) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
  const share = ((100 * right) / schemas).toFixed(1);
  return [
    name,
    schemas,
    compiled,
    `${right} (${share} %)`,
    `${accepted} of ${invalid}`,
    `${rejected} of ${valid}`,
    at(0.5),
    at(0.99),
    at(1),
  ];
}

const columns = ["suite", "schemas", "compiled", "all right", "wrongly accepted", "wrongly rejected", "p50 ms", "p99 ms", "max ms"];
const rows = [
  row("JSON-Schema-Test-Suite 2020-12", run(testSuite("draft2020-12", "https://json-schema.org/draft/2020-12/schema"), { order: "any" })),
  row("JSON-Schema-Test-Suite draft 7", run(testSuite("draft7", "http://json-schema.org/draft-07/schema#"), { order: "any" })),
  row("MaskBench, sample", run(maskBench(), { whitespace: "any" })),
];
for (const cells of [columns, columns.map(() => "---"), ...rows]) console.log(`| ${cells.join(" | ")} |`);
