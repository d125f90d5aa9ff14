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
  const texts = Math.min(sequences, batchSize, maxRows);
  const decoded = powersDownFrom(texts).map((T) => withReads({ T, nSeq: T, nOut: T }));
  // Kernels of several texts hardly depend on their number: those of the fewest and of the most serve the numbers between.
  const together = [...new Set([2, texts])].flatMap((count) =>
    [most, ...fewer].flatMap((T) => (count <= texts && count < T ? [{ T, nSeq: count, nOut: count, nRead: 0, nMask: 0 }] : [])),
  );
  return { first: [...decoded.reverse().flat(), ...prompt(most)], later: [...fewer.flatMap(prompt), ...together] };
}

/** `most`, and the powers of two below it in descending order. */
function powersDownFrom(most: number): readonly [number, ...number[]] {
  const powers: number[] = [];
  for (let power = 1; power < most; power *= 2) powers.unshift(power);
  return [most, ...powers];
}
