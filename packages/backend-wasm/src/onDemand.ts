import { isQuantized, type ProgramGraph, UnsupportedError } from "@centella/core";
import { formatNameOf } from "./formats/index.ts";

/**
 * What few programs need. A program that does loads it with its compilation, and a page without such programs never does.
 */
interface Parts {
  /** Convert weights of types without kernels of their own. */
  readonly codecs: typeof import("./blockCodecs.ts");
  /** Read tables of blocks that lie as they were loaded, and widen them. */
  readonly lookUp: typeof import("./blocks/lookUp.ts");
  /** Make blocks. */
  readonly encoders: typeof import("./blocks/quantize.ts");
  /** Multiply weights that are no blocks, or blocks without rounding activations. */
  readonly unrounded: typeof import("./matmul/unrounded.ts");
}

type Part = keyof Parts;

const loaders: { readonly [K in Part]: () => Promise<Parts[K]> } = {
  codecs: () => import("./blockCodecs.ts"),
  lookUp: () => import("./blocks/lookUp.ts"),
  encoders: () => import("./blocks/quantize.ts"),
  unrounded: () => import("./matmul/unrounded.ts"),
};

const loaded: { -readonly [K in Part]?: Parts[K] } = {};

/** Loads what programs need, for {@link onDemand}. */
export async function loadNeeded(programs: readonly ProgramGraph[]): Promise<void> {
  await loadOnDemand(new Set(programs.flatMap(partsOf)));
}

/** Loads parts, all of them if it is not said which. */
export async function loadOnDemand(parts: Iterable<Part> = Object.keys(loaders) as Part[]): Promise<void> {
  await Promise.all([...parts].map(load));
}

async function load<K extends Part>(part: K): Promise<void> {
  loaded[part] ??= await loaders[part]();
}

/** @throws {UnsupportedError} before it is loaded */
export function onDemand<K extends Part>(part: K): Parts[K] {
  const found: Partial<Parts>[K] = loaded[part];
  if (found === undefined)
    throw new UnsupportedError(`wasm: ${part}`, "their code must be waited for; compile a program with them first, or await the call");
  return found;
}

/** @throws {UnsupportedError} if something that a program needs is not loaded */
export function requireLoaded(program: ProgramGraph): void {
  for (const part of partsOf(program)) onDemand(part);
}

/** Where each op takes blocks that its kernel reads itself, if they are a weight's. */
const readers: Readonly<Record<string, number>> = { attention: 1, embedding: 0, kvWrite: 0, matmul: 1, moeMatmul: 1 };

function partsOf({ nodes, values, outputs }: ProgramGraph): readonly Part[] {
  const hasBlocks = (id: number | undefined): id is number => id !== undefined && isQuantized(values[id]!.spec.dtype);
  const isForeign = (id: number | undefined): boolean => hasBlocks(id) && formatNameOf(values[id]!.spec.dtype) !== values[id]!.spec.dtype;
  const readsBlocks =
    outputs.some(({ value }) => hasBlocks(value)) ||
    nodes.some(({ op, inputs, params, output }) => {
      const isTurned = op.name === "matmul" && !(params as { transposeB: boolean }).transposeB;
      const isOdd = (id: number | undefined, place: number): boolean =>
        hasBlocks(id) && (readers[op.name] !== place || isTurned || values[id]!.persistent === undefined);
      return inputs.some(isOdd) || (hasBlocks(output) && op.name !== "kvWrite");
    });
  const isUnrounded = ({ op, inputs, params }: ProgramGraph["nodes"][number]): boolean =>
    (op.name === "matmul" || op.name === "moeMatmul") &&
    !(hasBlocks(inputs[1]) && (params as { activations: string }).activations === "ggml");
  return [
    ...(nodes.some(isUnrounded) ? (["unrounded"] as const) : []),
    ...(nodes.some(({ inputs }) => inputs.some(isForeign)) ? (["codecs"] as const) : []),
    ...(readsBlocks ? (["lookUp"] as const) : []),
    ...(nodes.some(({ op }) => op.name === "quantize") ? (["encoders"] as const) : []),
  ];
}
