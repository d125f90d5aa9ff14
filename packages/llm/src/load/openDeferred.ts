import { createRecorder, type DimValues } from "@centella/core";
import { keepLogits, keptLogits } from "../model/keptLogits.ts";
import type { recordChoice, recordModel } from "../model/recordModel.ts";
import type { DeferredPlans } from "../scheduler/deferredChoices.ts";
import type { CompiledModel, ProgramSource } from "./compileModel.ts";

/** Functions of the file that imports this one on demand. */
interface Recorders {
  readonly recordModel: typeof recordModel;
  readonly recordChoice: typeof recordChoice;
}

/**
 * Compiles the plans with which texts under a mask are computed ahead. Runs are small: they decode, and verify drafts.
 * @throws {OutOfMemoryError | KernelError}
 */
export async function openDeferred(
  { runtime, file, description, adapters }: ProgramSource,
  compiled: CompiledModel,
  record: Recorders,
): Promise<DeferredPlans> {
  const { sequences, maxRows } = compiled.sizes;
  const sizes = { ...compiled.sizes, batchSize: maxRows };
  const { program } = record.recordModel(description, file, sizes, adapters, keepLogits);
  const model = await runtime.compile(program, { shareWith: compiled.plan, background: true });
  try {
    const choice = createRecorder();
    record.recordChoice(choice, keptLogits(choice, description.config.vocabSize, sizes), sizes);
    const choose = await runtime.compile(choice, { shareWith: model });
    await model.prepare?.(decodingExtents(Math.min(sequences, maxRows)));
    return { model, choose, batchSize: maxRows, sequences };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/** Extents of runs in which all sequences decode under a mask, of which a plan compiles one for all up to the next power of two. */
function decodingExtents(sequences: number): readonly DimValues[] {
  const extents: DimValues[] = [];
  for (let T = 1; T < 2 * sequences; T *= 2) {
    const count = Math.min(T, sequences);
    extents.push({ T: count, nSeq: count, nOut: count, nRead: 0, nMask: 0, nChosen: 0 });
  }
  return extents;
}
