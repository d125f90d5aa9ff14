// Counts the runs that drafts of forced text save, and prints the share.
//
//   node --conditions=@centella/source packages/llm/scripts/jumpForward.mjs [--vocabulary llama-bpe] [--every 1]
//
// The valid instances of the MaskBench sample stand for answers of a model that cuts texts as its tokenizer does: each is cut into tokens as a
// whole, and the drafts of its schema are compared with them. `--every n` takes every n-th schema. Data is read from $CENTELLA_SHARED
// (default: ../shared).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readGguf } from "@centella/gguf";
import { AnswerConstraint } from "../src/format/answerConstraint.ts";
import { loadTokenizer } from "../src/tokenizer/loadTokenizer.ts";

const { values } = parseArgs({
  options: { vocabulary: { type: "string", default: "llama-bpe" }, every: { type: "string", default: "1" } },
});
const root = join(process.env.CENTELLA_SHARED ?? join(import.meta.dirname, "../../../../shared"), "data");
const file = await readGguf(readFileSync(join(root, `vocab/ggml-vocab-${values.vocabulary}.gguf`)));
const tokenizer = await loadTokenizer(file.metadata);
/** Most tokens of a draft. */
const room = 31;

const total = { tokens: 0, runs: 0, drafted: 0, accepted: 0, answers: 0 };
const schemas = readFileSync(join(root, "schemas/maskbench-sample.jsonl"), "utf8").trim().split("\n");
for (let i = 0; i < schemas.length; i += Number(values.every)) {
  const { schema, tests } = JSON.parse(schemas[i]);
  for (const { data, valid } of tests) if (valid) answer(schema, JSON.stringify(data));
}
const share = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;
console.log(
  `${total.answers} answers of ${total.tokens} tokens in ${total.runs} runs: ${share(total.tokens - total.runs, total.tokens)} saved`,
);
console.log(`${total.drafted} drafted tokens, ${share(total.accepted, total.drafted)} accepted`);

function answer(schema, text) {
  let constraint;
  try {
    constraint = new AnswerConstraint({ schema }, { tokenizer, promptIds: [], signal: undefined });
  } catch {
    return;
  }
  const ids = [...tokenizer.encode(text, { addSpecial: false })];
  if (constraint.allowed(ids).length < ids.length) return;
  const drafter = constraint.drafter({ forces: true, lookup: undefined, sequences: () => 1 });
  total.answers++;
  total.tokens += ids.length;
  for (let at = 0; at < ids.length; ) {
    const draft = at === 0 ? [] : drafter.draft(ids.slice(0, at), room);
    let accepted = 0;
    while (accepted < draft.length && draft[accepted] === ids[at + accepted]) accepted++;
    // The run of the last accepted token chooses the next one.
    const next = ids.slice(at, at + accepted + 1);
    for (const id of next) constraint.accept(id);
    if (draft.length > 0) drafter.adapt(draft.length, accepted);
    at += next.length;
    total.runs++;
    total.drafted += draft.length;
    total.accepted += accepted;
  }
}
