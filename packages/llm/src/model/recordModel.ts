import { CentellaError, type ConcreteSpec, type Dim, type OpRecorder, UnsupportedError, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { ModelError } from "../errors.ts";
import type { RecordedAdapters } from "../load/adapters.ts";
import type { ModelPart, Weight } from "../load/weights.ts";
import { ChosenTokens } from "./chosenTokens.ts";
import { ModelBuilder, type ModelSizes, type Recordable } from "./modelBuilder.ts";

/** A recorded model: one program for prompts and for single tokens, and the weights that it needs. */
export interface RecordedModel {
  readonly program: OpRecorder;
  readonly weights: readonly Weight[];
  /** The part of the model that each persistent belongs to. */
  readonly parts: ReadonlyMap<string, ModelPart>;
  /** Specs of the persistents that hold the layers' caches, by name. */
  readonly caches: ReadonlyMap<string, ConcreteSpec>;
  /** Specs of the persistents that hold the recurrent layers' states, by name. */
  readonly states: ReadonlyMap<string, ConcreteSpec>;
}

/** Records that some of the rows of logits `[nOut, V]` are kept on the device. Returns the rows whose tokens the run chooses itself. */
export type KeepLogits = (program: OpRecorder, logits: Value, sizes: ModelSizes) => Value;

/**
 * Records a model.
 * @param keep default: the run chooses the tokens of all rows
 * @throws {ModelError | UnsupportedError}
 */
export function recordModel(
  description: Recordable,
  file: GgufFile,
  sizes: ModelSizes,
  adapters?: RecordedAdapters,
  keep?: KeepLogits,
): RecordedModel {
  const builder = recordRun(description, file, sizes, adapters, keep);
  return recorded(builder, [...builder.weights.finish(), ...(builder.adapters?.finish() ?? [])]);
}

/** Records a part of a model, whose program does not use all tensors of the file. @throws as {@link recordModel} */
export function recordPart(description: Recordable, file: GgufFile, sizes: ModelSizes): RecordedModel {
  const builder = recordRun(description, file, sizes);
  return recorded(builder, builder.weights.requested());
}

function recorded(builder: ModelBuilder, own: readonly Weight[]): RecordedModel {
  const { program, parts, cacheSpecs: caches, stateSpecs: states, otherWeights } = builder;
  return { program, weights: [...own, ...otherWeights], parts, caches, states };
}

function recordRun(
  description: Recordable,
  file: GgufFile,
  sizes: ModelSizes,
  adapters?: RecordedAdapters,
  keep?: KeepLogits,
): ModelBuilder {
  const builder = new ModelBuilder(description, file, sizes, adapters);
  const { program, weights } = builder;
  const result = explained([weights, builder.adapters], () => description.forward(builder));
  builder.kept.requireInputs();
  if (builder.result === "states") program.output("states", result);
  else {
    // Logits leave the run only where a caller reads them: a chosen token is one number.
    program.output("logits", program.embedding(result, program.input("readRows", "i32", [program.dim("nRead", sizes.maxRows)])));
    const chosen = chooseTokens(program, keep?.(program, result, sizes) ?? result, sizes.maxRows);
    builder.keepChosen(chosen);
    program.output("chosen", chosen);
  }
  return builder;
}

/** Records the choice of the tokens that follow rows of logits `[n, V]`, and keeps them for the next run. */
export function recordChoice(program: OpRecorder, logits: Value, sizes: ModelSizes): void {
  const chosen = chooseTokens(program, logits, sizes.sequences);
  new ChosenTokens(program, sizes).write(chosen);
  program.output("chosen", chosen);
}

/** The token after each row of logits `[nOut, V]`, by the row's own options and, where it has one, under a mask. */
function chooseTokens(program: OpRecorder, logits: Value, maxRows: number): Value {
  const [rows, vocabulary] = logits.spec.shape as readonly [Dim, number];
  const integers = (name: string, ...shape: readonly Dim[]): Value => program.input(name, "i32", [rows, ...shape]);
  const numbers = (name: string): Value => program.input(name, "f32", [rows]);
  return program.sample(
    logits,
    integers("drawPositions"),
    integers("seeds", 2),
    numbers("temperatures"),
    integers("topKs"),
    numbers("topPs"),
    numbers("minPs"),
    {
      mask: program.input("masks", "i32", [program.dim("nMask", maxRows), Math.ceil(vocabulary / 32)]),
      maskRow: integers("maskRows"),
    },
  );
}

/**
 * Records, and explains errors of ops. Missing tensors, misshapen tensors and contradictory sizes can make an op fail before the file's
 * tensors are compared with the requested ones. The tensors are then the better explanation.
 * @throws {ModelError | UnsupportedError}
 */
function explained(tables: readonly ({ readonly problems: ModelError | undefined } | undefined)[], record: () => Value): Value {
  try {
    return record();
  } catch (error) {
    if (!(error instanceof CentellaError) || error instanceof ModelError) throw error;
    const problem = tables.map((table) => table?.problems).find((found) => found !== undefined);
    if (problem !== undefined) throw problem;
    if (error instanceof UnsupportedError) throw error;
    throw new ModelError(
      `model: expected metadata that goes with the tensors, got a contradiction (${error.message}); the file is broken`,
      {
        cause: error,
      },
    );
  }
}
