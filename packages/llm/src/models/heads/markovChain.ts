import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { lastExtent, Section } from "../blocks/section.ts";
import { countKnown } from "./head.ts";

/**
 * Corrects the logits `[n, K]` of a block of n tokens, from row `first` on. Each row gets a bias for the token before, which is the newest one
 * of the text, or the likeliest one of the row before. The run has the tokens of one block, and gives logits of each.
 * @param known for each of the model's tokens, its number among the K that have logits, -1 if it has none. Default: all have logits
 */
export function chainedLogits(m: ModelBuilder, logits: Value, first: 0 | 1, known: Int32Array | undefined): Value {
  const { program, config } = m;
  const section = new Section(m, "output");
  const { weights } = section;
  const table = weights.matrix("markov_w1.weight", [config.vocabSize, weights.shape("markov_w1.weight")?.at(-1) ?? 1]);
  const rowAt = (index: number): Value => program.constant(Int32Array.of(index), "i32", [1]);
  const idsOf = known && program.constant(idsByNumber(known), "i32", [lastExtent(logits)]);
  const rows: Value[] = [];
  let previous = program.gather(m.tokens, rowAt(0), { axis: 0 });
  for (let index = 0; index < lastExtent(m.outRows); index++) {
    const row = program.embedding(logits, rowAt(index));
    if (index < first) rows.push(row);
    else {
      const bias = section.linear("markov_w2", m.lookUp(table, previous), { rows: lastExtent(logits) });
      const sum = program.add(row, bias);
      rows.push(sum);
      const number = program.argmax(sum);
      previous = idsOf === undefined ? number : program.gather(idsOf, number, { axis: 0 });
    }
  }
  return m.pick(program.concat(rows, { axis: 0 }));
}

/** The model's token of each number. */
function idsByNumber(known: Int32Array): Int32Array {
  const ids = new Int32Array(countKnown(known));
  for (const [id, number] of known.entries()) if (number >= 0) ids[number] = id;
  return ids;
}
