// Writes src/program/opMethods.ts: the op methods that users call, as interfaces with parameter names and documentation.
// `node --conditions=@centella/source packages/core/scripts/writeOpMethods.mjs` checks that the file is up to date, `--write` writes it.
//
// The types of the methods could be derived from `Ops`, but editors show a derived method without its documentation.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "@typescript/typescript6";
import { ops } from "../src/ops/index.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = resolve(import.meta.dirname, "../src/ops");
const target = resolve(import.meta.dirname, "../src/program/opMethods.ts");

const parsed = new Map();

/** Syntax tree of a file. */
function sourceOf(file) {
  if (!parsed.has(file)) parsed.set(file, ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true));
  return parsed.get(file);
}

/** Imported names of a file: name → file. */
function importsOf(source) {
  const imports = source.statements.filter(ts.isImportDeclaration).filter(({ moduleSpecifier }) => moduleSpecifier.text.startsWith("."));
  return new Map(
    imports.flatMap(({ importClause, moduleSpecifier }) =>
      importClause.namedBindings.elements.map(({ name }) => [name.text, resolve(dirname(source.fileName), moduleSpecifier.text)]),
    ),
  );
}

/** File that declares a type which `source` names; undefined for global types. */
function declaringFile(name, source) {
  const isOwn = source.statements.some((each) => each.name?.text === name);
  return isOwn ? source.fileName : importsOf(source).get(name);
}

/** Lines of the comment before a node, without its frame. */
function docOf(node) {
  const doc = node.jsDoc?.at(-1)?.getText() ?? "";
  return doc
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
}

/** Fields of a parameter interface, inherited ones first: `{ name, type, doc, source }`. */
function fieldsOf(name, source) {
  if (name === "NoParams") return [];
  const file = sourceOf(declaringFile(name, source));
  const found = file.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === name);
  const inherited = (found.heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap(({ expression }) => fieldsOf(expression.text, file)),
  );
  return [
    ...inherited,
    ...found.members.map((member) => ({ name: member.name.text, type: member.type, doc: docOf(member), source: file })),
  ];
}

/** Complaints about documentation that says too little. */
const undocumented = [];

/** A doc comment states shapes, dtypes and errors. */
function requireContract(name, doc) {
  const parts = { "shapes (x [...] -> y [...])": /->/, dtypes: /\b(f32|i32|bool|dtype)\b/, "errors (@throws)": /@throws/ };
  const missing = Object.keys(parts).filter((part) => !parts[part].test(doc));
  if (missing.length > 0) undocumented.push(`${name}: ${missing.join(", ")}`);
}

/** Imports of the written file: file → names. */
const used = new Map();

function use(name, file) {
  if (!used.has(file)) used.set(file, new Set());
  used.get(file).add(name);
}

/** Imports the types that a type is made of. */
function useTypes(node, source) {
  const file = ts.isTypeReferenceNode(node) ? declaringFile(node.typeName.text, source) : undefined;
  if (file !== undefined) use(node.typeName.text, file);
  ts.forEachChild(node, (child) => useTypes(child, source));
}

function comment(text) {
  return text.includes("\n") ? `/**\n${text.replace(/^/gm, " * ").replace(/ +$/gm, "")}\n */` : `/** ${text} */`;
}

/** The options object of a call, or nothing where the op has no options. */
function optionsOf(op, declaration, source) {
  const [, params] = declaration.type.typeArguments;
  const fields = params === undefined ? [] : fieldsOf(params.typeName.text, source);
  const members = fields.map(({ name, type, doc, source: file }) => {
    if (doc === "") undocumented.push(`${op.name}: parameter ${name}`);
    useTypes(type, file);
    const isOptional = name in op.defaults;
    const byDefault = isOptional ? `@defaultValue ${JSON.stringify(op.defaults[name])}` : "";
    const text = [doc, byDefault].filter((each) => each !== "").join(doc.includes("\n") ? "\n" : " ");
    return `${text === "" ? "" : `${comment(text)}\n`}readonly ${name}${isOptional ? "?" : ""}: ${type.getText()};`;
  });
  const tensors = (op.optionalInputs ?? []).map((name) => `/** Optional tensor; see the shapes above. */\nreadonly ${name}?: Handle;`);
  const all = [...members, ...tensors];
  if (all.length === 0) return [];
  return [`params${all.every((each) => /^readonly \w+\?/m.test(each)) ? "?" : ""}: {\n${all.join("\n")}\n}`];
}

/** One op: `{ call, chained }`, its method with all tensors as arguments and as a method of its first tensor. */
function methodsOf(op) {
  const file = join(folder, `${op.name}.ts`);
  const source = sourceOf(file);
  const statement = source.statements.find(
    (each) => ts.isVariableStatement(each) && each.declarationList.declarations[0].name.text === op.name,
  );
  use(op.name, file);
  const doc = docOf(statement).replace(/ (@throws)/g, "\n$1");
  requireContract(op.name, doc);
  const options = optionsOf(op, statement.declarationList.declarations[0], source);
  const method = (note, tensors, result) => {
    const lines = doc.split("\n");
    const tags = lines.findIndex((line) => line.startsWith("@"));
    lines.splice(tags < 0 ? lines.length : tags, 0, note);
    return `${comment(lines.join("\n"))}\n${op.name}(${[...tensors, ...options].join(", ")}): ${result};`;
  };
  const [first, ...rest] = op.inputs;
  const handles = (names) => names.map((name) => `${name}: Handle`);
  const see = `See {@link ${op.name}}.`;
  const call = method(see, op.variadic === true ? [`${first}: readonly Handle[]`] : handles(op.inputs), "Result");
  // A chain starts with a tensor that is no persistent.
  if (first === undefined || op.writes !== undefined) return { call };
  const chained =
    op.variadic === true
      ? method(`The first of \`${first}\` is this tensor. ${see}`, ["others: readonly Handle[]"], "Handle")
      : method(`\`${first}\` is this tensor. ${see}`, handles(rest), "Handle");
  return { call, chained };
}

const methods = Object.values(ops).map(methodsOf);
if (undocumented.length > 0) throw new Error(`undocumented:\n${undocumented.join("\n")}`);
const imports = [...used]
  .map(([file, names]) => [relative(dirname(target), file), names])
  .map(([path, names]) => `import type { ${[...names].sort().join(", ")} } from "${path.startsWith(".") ? path : `./${path}`}";`);
const written = `// Written by scripts/writeOpMethods.mjs from the files of src/ops; do not edit.
${imports.join("\n")}

/** One method per op: \`Handle\` is the type of its tensors, \`Result\` what a call returns. */
export interface OpMethods<Handle, Result> {
${methods.map(({ call }) => call).join("\n\n")}
}

/** The ops as methods of their first tensor: \`a.matmul(b, { transposeB: true })\`, \`a.concat([b, c], { axis: 0 })\`. */
export interface ChainMethods<Handle> {
${methods.flatMap(({ chained }) => chained ?? []).join("\n\n")}
}
`;

const biome = join(root, "node_modules/.bin/biome");
const checked = spawnSync(biome, ["check", "--write", `--stdin-file-path=${target}`], { cwd: root, input: written, encoding: "utf8" });
if (checked.status !== 0) throw new Error(`biome: ${checked.stderr}`);
const text = checked.stdout;

if (process.argv.includes("--write")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  console.error(`${relative(root, target)} is stale: node --conditions=@centella/source packages/core/scripts/writeOpMethods.mjs --write`);
  process.exitCode = 1;
}
