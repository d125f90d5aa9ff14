import { readFileSync } from "node:fs";
import {
  compile,
  fromGbnf,
  fromJsonSchema,
  fromLark,
  fromRegex,
  type Grammar,
  type SchemaWarning,
  type Vocabulary,
  vocabulary,
} from "@centella/grammar";
import { createTokenizer } from "@centella/llm";
import { type Command, type Context, command, requireArguments } from "../command.ts";
import { openHeader } from "../modelFile.ts";
import { choice, flag, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const kinds = ["schema", "gbnf", "lark", "regex"] as const;
type Kind = (typeof kinds)[number];

/** Kinds of grammars by the names of their files. */
const kindsByEnding: Readonly<Record<string, Kind>> = { json: "schema", gbnf: "gbnf", lark: "lark", regex: "regex" };

/** `centella grammar check FILE`: whether a grammar can be enforced, and what it costs. */
export const grammar: Command = command({
  name: "grammar",
  arguments: "check FILE",
  summary: "check whether a schema or grammar can be enforced, and what it costs",
  details:
    "FILE is a JSON Schema (.json), a grammar in GBNF (.gbnf) or Lark (.lark), or a regular expression (.regex). What cannot be enforced is an error.",
  options: {
    vocabulary: text("MODEL", "measure with the vocabulary of a GGUF file instead of single bytes"),
    kind: choice(kinds, "what FILE is, if its name does not say so"),
    json: flag("print one JSON object"),
  },
  async run(values, positionals, context) {
    const [action, path] = requireArguments("grammar", ["check", "FILE"], positionals);
    if (action !== "check") throw new UsageError(`grammar: expected check, got ${action}`);
    const tokens = await vocabularyOf(values.vocabulary, context);
    const report = check(readFileSync(path, "utf8"), values.kind ?? kindOf(path), tokens);
    if (values.json) context.output.print(JSON.stringify(report));
    else for (const line of linesOf(report)) context.output.print(line);
  },
});

function kindOf(path: string): Kind {
  const kind = kindsByEnding[path.split(".").at(-1) ?? ""];
  if (kind === undefined) throw new UsageError(`grammar: expected --kind ${kinds.join(" or ")} for ${path}, whose name does not say it`);
  return kind;
}

/** What a check finds. Times are in milliseconds, sizes in bytes. */
interface Report {
  readonly kind: Kind;
  readonly rules: number;
  readonly warnings: readonly SchemaWarning[];
  readonly vocabulary: number;
  readonly vocabularyMs: number;
  readonly readMs: number;
  readonly compileMs: number;
  readonly firstMaskMs: number;
  readonly bytes: number;
  /** Tokens with which a text may begin. */
  readonly firstTokens: number;
}

function check(source: string, kind: Kind, { tokens, ms }: TimedVocabulary): Report {
  const [read, readMs] = timed(() => grammarOf(source, kind));
  const [constraint, compileMs] = timed(() => compile(read, tokens));
  const mask = new Uint32Array(tokens.maskWords);
  const [, firstMaskMs] = timed(() => constraint.matcher().mask(mask));
  const firstTokens = mask.reduce((sum, word) => sum + bitCount(word), 0);
  const warnings = "warnings" in read ? (read.warnings as readonly SchemaWarning[]) : [];
  const rules = Object.keys(read.rules).length + 1;
  return {
    kind,
    rules,
    warnings,
    vocabulary: tokens.size,
    vocabularyMs: ms,
    readMs,
    compileMs,
    firstMaskMs,
    bytes: constraint.bytes,
    firstTokens,
  };
}

function grammarOf(source: string, kind: Kind): Grammar {
  switch (kind) {
    case "schema":
      return fromJsonSchema(schemaOf(source));
    case "gbnf":
      return fromGbnf(source);
    case "lark":
      return fromLark(source);
    case "regex":
      return fromRegex(source.replace(/\r?\n$/, ""));
  }
}

function schemaOf(source: string): boolean | Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new UsageError(`grammar: expected a JSON Schema, got ${(error as Error).message}`);
  }
}

interface TimedVocabulary {
  readonly tokens: Vocabulary;
  readonly ms: number;
}

/** The vocabulary of a model, or single bytes. */
async function vocabularyOf(model: string | undefined, context: Context): Promise<TimedVocabulary> {
  if (model === undefined) {
    const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
    const [tokens, ms] = timed(() => vocabulary([...bytes, new Uint8Array()], { endIds: [256], specialIds: [] }));
    return { tokens, ms };
  }
  await using file = await openHeader(model, context);
  const tokenizer = createTokenizer(file.metadata);
  const ids = Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
  const texts = ids.map((id) => tokenizer.tokenBytes(id));
  const specialIds = ids.filter((id) => tokenizer.isSpecial(id));
  const [tokens, ms] = timed(() => vocabulary(texts, { endIds: tokenizer.endOfGenerationIds, specialIds }));
  return { tokens, ms };
}

function timed<T>(work: () => T): readonly [result: T, ms: number] {
  const start = performance.now();
  const result = work();
  return [result, Math.round((performance.now() - start) * 100) / 100];
}

function bitCount(word: number): number {
  let count = 0;
  for (let bits = word; bits !== 0; bits &= bits - 1) count++;
  return count;
}

function linesOf(report: Report): readonly string[] {
  const { kind, rules, warnings, readMs, compileMs, firstMaskMs, bytes, firstTokens } = report;
  return [
    `${kind} of ${rules} rules can be enforced`,
    ...warnings.map(({ pointer, keyword, reason }) => `warning: ${keyword} at "${pointer}": ${reason}`),
    `read        ${readMs} ms`,
    `compile     ${compileMs} ms, ${Math.ceil(bytes / 1024)} KiB`,
    `vocabulary  ${report.vocabulary} tokens, ${report.vocabularyMs} ms once per model`,
    `first mask  ${firstMaskMs} ms, ${firstTokens} tokens allowed`,
  ];
}
