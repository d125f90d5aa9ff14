import { isQuantized, type ProgramGraph, UnsupportedError } from "@centella/core";
import { formatNameOf } from "./formats/index.ts";

/**
 * What few programs need. A program that does loads it with its compilation, and a page without such programs never does.
 */
interface Parts {
  /** Convert weights of types without kernels of their own. */
  readonly codecs: typeof import("./blockCodecs.ts");
  /** Read tables of blocks that lie as they were loaded. */
  readonly lookUp: typeof import("./blocks/lookUp.ts");
}

const loaded: { -readonly [K in keyof Parts]?: Parts[K] } = {};

/** Loads what there is, or what some programs need, for {@link onDemand}. */
export async function loadOnDemand(programs?: readonly ProgramGraph[]): Promise<void> {
  const needed = programs?.map(partsOf);
  const isNeeded = (part: keyof Parts): boolean => needed === undefined || needed.some((parts) => parts[part]);
  if (isNeeded("codecs")) loaded.codecs ??= await import("./blockCodecs.ts");
  if (isNeeded("lookUp")) loaded.lookUp ??= await import("./blocks/lookUp.ts");
}

/** @throws {UnsupportedError} before it is loaded */
export function onDemand<K extends keyof Parts>(part: K): Parts[K] {
  const found: Partial<Parts>[K] = loaded[part];
  if (found === undefined)
    throw new UnsupportedError("wasm: blocks", "their code must be waited for; compile a program with them first, or await the call");
  return found;
}

/** @throws {UnsupportedError} if something that a program needs is not loaded */
export function requireLoaded(program: ProgramGraph): void {
  const parts = partsOf(program);
  for (const part of ["codecs", "lookUp"] as const) if (parts[part]) onDemand(part);
}

/** Where each op takes blocks that its kernel reads itself, if they are a weight's. */
const readers: Readonly<Record<string, number>> = { attention: 1, embedding: 0, kvWrite: 0, matmul: 1, moeMatmul: 1 };

function partsOf({ nodes, values, outputs }: ProgramGraph): Record<keyof Parts, boolean> {
  const hasBlocks = (id: number | undefined): id is number => id !== undefined && isQuantized(values[id]!.spec.dtype);
  const isForeign = (id: number | undefined): boolean => hasBlocks(id) && formatNameOf(values[id]!.spec.dtype) !== values[id]!.spec.dtype;
  const lookUp =
    outputs.some(({ value }) => hasBlocks(value)) ||
    nodes.some(({ op, inputs, params, output }) => {
      const isTurned = op.name === "matmul" && !(params as { transposeB: boolean }).transposeB;
      const isOdd = (id: number | undefined, place: number): boolean =>
        hasBlocks(id) && (readers[op.name] !== place || isTurned || values[id]!.persistent === undefined);
      return inputs.some(isOdd) || (hasBlocks(output) && op.name !== "kvWrite");
    });
  return { lookUp, codecs: nodes.some(({ inputs }) => inputs.some(isForeign)) };
}
