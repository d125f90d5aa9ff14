import { isQuantized, type ProgramGraph, UnsupportedError } from "@centella/core";
import { formatNameOf } from "./formats/index.ts";

/**
 * Blocks that are read or written in JavaScript: types without kernels of their own, and ops that models do not run. A program that has
 * such blocks loads the code with its compilation, and a page without them never does.
 */
type Codecs = typeof import("./blockCodecs.ts");

let loaded: Codecs | undefined;

/** Loads {@link codecs}. */
export async function loadCodecs(): Promise<void> {
  loaded ??= await import("./blockCodecs.ts");
}

/** @throws {UnsupportedError} before {@link loadCodecs} is done */
export function codecs(): Codecs {
  if (loaded === undefined)
    throw new UnsupportedError("wasm: blocks", "their code must be waited for; compile a program with them first, or await the call");
  return loaded;
}

/** Where each op takes blocks that its kernel reads itself, if they are a weight's. */
const readers: Readonly<Record<string, number>> = { attention: 1, embedding: 0, kvWrite: 0, matmul: 1, moeMatmul: 1 };

/** Whether a program has blocks that no kernel of its own reads. */
export function needsCodecs({ nodes, values, outputs }: ProgramGraph): boolean {
  const isNative = (id: number): boolean => {
    const { spec, persistent } = values[id]!;
    return persistent !== undefined && formatNameOf(spec.dtype) === spec.dtype;
  };
  const hasBlocks = (id: number | undefined): id is number => id !== undefined && isQuantized(values[id]!.spec.dtype);
  return (
    outputs.some(({ value }) => hasBlocks(value)) ||
    nodes.some(({ op, inputs, params, output }) => {
      const isTurned = op.name === "matmul" && !(params as { transposeB: boolean }).transposeB;
      const isOdd = (id: number | undefined, place: number): boolean =>
        hasBlocks(id) && (readers[op.name] !== place || isTurned || !isNative(id));
      return inputs.some(isOdd) || (hasBlocks(output) && op.name !== "kvWrite");
    })
  );
}
