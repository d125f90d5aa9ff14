import type { Dim, OpRecorder, Value } from "@centella/core";
import type { ModelSizes } from "./modelBuilder.ts";
import type { KeepLogits } from "./recordModel.ts";

/** Records that rows are kept in a persistent with a row for each sequence. */
export const keepLogits: KeepLogits = (program, logits, { sequences, maxRows }) => {
  const [rows, vocabSize] = logits.spec.shape as readonly [Dim, number];
  program.assign(declareLogits(program, sequences, vocabSize), logits, { indices: program.input("keptTo", "i32", [rows]) });
  return program.embedding(logits, program.input("chosenRows", "i32", [program.dim("nChosen", maxRows)]));
};

/** Kept rows of logits `[nChosen, V]`. */
export function keptLogits(program: OpRecorder, vocabSize: number, { sequences }: ModelSizes): Value {
  const rows = program.input("rows", "i32", [program.dim("nChosen", sequences)]);
  return program.gather(declareLogits(program, sequences, vocabSize), rows);
}

function declareLogits(program: OpRecorder, sequences: number, vocabSize: number): Value {
  return program.persistent("keptLogits", { dtype: "f32", shape: [sequences, vocabSize] }, { init: "zeros" });
}
