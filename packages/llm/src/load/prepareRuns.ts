import type { DimValues, Plan } from "@centella/core";
import type { ModelSizes } from "../model/modelBuilder.ts";

/**
 * Has the kernels of a model's runs compiled while its weights load. Resolves when those of decoding and of the longest prompts are
 * compiled; those of shorter prompts follow.
 * @throws {KernelError}
 */
export async function prepareRuns(plan: Pick<Plan, "prepare">, sizes: ModelSizes): Promise<void> {
  const { first, later } = extentsOf(sizes);
  await plan.prepare?.(first);
  // A run that needs a kernel which cannot be compiled reports it.
  plan.prepare?.(later).catch(() => undefined);
}

/** Extents of runs, of which a plan compiles one for all up to the next power of two. */
function extentsOf({ batchSize, maxRows, sequences, result }: ModelSizes): Readonly<Record<"first" | "later", readonly DimValues[]>> {
  const [most, ...fewer] = powersDownFrom(batchSize);
  if (result === "states") {
    const texts = (count: number): DimValues => ({ T: count, nSeq: 1, nOut: count });
    return { first: [texts(most)], later: fewer.map(texts) };
  }
  // With the logits of the last rows, and with the chosen tokens alone. Texts under a mask compile theirs on first use.
  const withReads = (dims: { readonly T: number; readonly nSeq: number; readonly nOut: number }): readonly DimValues[] =>
    [0, dims.nOut].map((nRead) => ({ ...dims, nRead, nMask: 0 }));
  const prompt = (T: number): readonly DimValues[] => withReads({ T, nSeq: 1, nOut: 1 });
  const decoded = powersDownFrom(Math.min(sequences, batchSize, maxRows)).map((T) => withReads({ T, nSeq: T, nOut: T }));
  return { first: [...decoded.reverse().flat(), ...prompt(most)], later: fewer.flatMap(prompt) };
}

/** `most`, and the powers of two below it in descending order. */
function powersDownFrom(most: number): readonly [number, ...number[]] {
  const powers: number[] = [];
  for (let power = 1; power < most; power *= 2) powers.unshift(power);
  return [most, ...powers];
}
