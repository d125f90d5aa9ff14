import { NotLoadedError } from "@centella/core";
import { isQuantized, type ProgramGraph } from "@centella/core/backend";
import { formatNameOf } from "../formats/index.ts";

/**
 * What few programs need. A program that does loads it with its compilation, and a page without such programs never does.
 */
interface LazyParts {
  /** Convert weights of types without kernels of their own. */
  readonly codecs: typeof import("./blockCodecs.ts");
  /** Read tables of blocks that lie as they were loaded, and widen them. */
  readonly lookUp: typeof import("../blocks/lookUp.ts");
  /** Make blocks. */
  readonly encoders: typeof import("../blocks/quantize.ts");
  /** Multiply weights that are no blocks. */
  readonly floats: typeof import("../matmul/floatPath.ts");
  /** Multiply blocks without rounding activations. */
  readonly exact: typeof import("../matmul/exactPath.ts");
  /** Emits code for memories with 64-bit addresses. */
  readonly widening: typeof import("../emit/widen.ts");
  /** Finds writes outside of tensors. */
  readonly writeGuards: typeof import("../memory/writeGuards.ts");
}

type PartName = keyof LazyParts;

const loaders: { readonly [K in PartName]: () => Promise<LazyParts[K]> } = {
  codecs: () => import("./blockCodecs.ts"),
  lookUp: () => import("../blocks/lookUp.ts"),
  encoders: () => import("../blocks/quantize.ts"),
  floats: () => import("../matmul/floatPath.ts"),
  exact: () => import("../matmul/exactPath.ts"),
  widening: () => import("../emit/widen.ts"),
  writeGuards: () => import("../memory/writeGuards.ts"),
};

const loaded: { -readonly [K in PartName]?: LazyParts[K] } = {};

/** Loads what programs need, for {@link lazyPart}. */
export async function loadPartsOf(programs: readonly ProgramGraph[]): Promise<void> {
  await loadParts(new Set(programs.flatMap(partsOf)));
}

/** Loads parts, all of them if it is not said which. */
export async function loadParts(parts: Iterable<PartName> = Object.keys(loaders) as PartName[]): Promise<void> {
  await Promise.all([...parts].map(load));
}

async function load<K extends PartName>(part: K): Promise<void> {
  loaded[part] ??= await loaders[part]();
}

/** A part, if it is loaded. */
export function partIfLoaded<K extends PartName>(part: K): LazyParts[K] | undefined {
  return loaded[part];
}

/** @throws {NotLoadedError} before it is loaded */
export function lazyPart<K extends PartName>(part: K): LazyParts[K] {
  const found = partIfLoaded(part);
  if (found === undefined)
    throw new NotLoadedError(`wasm: ${part}`, "their code must be waited for; compile a program with them first, or await the call");
  return found;
}

/** @throws {NotLoadedError} if something that a program needs is not loaded */
export function requireParts(program: ProgramGraph): void {
  for (const part of partsOf(program)) lazyPart(part);
}

/** Where each op takes blocks that its kernel reads itself, if they are a weight's. */
const readers: Readonly<Record<string, number>> = { attention: 1, embedding: 0, kvWrite: 0, matmul: 1, moeMatmul: 1 };

function partsOf({ nodes, values, outputs }: ProgramGraph): readonly PartName[] {
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
  const products = nodes.filter(({ op }) => op.name === "matmul" || op.name === "moeMatmul");
  const isExact = ({ inputs, params }: (typeof products)[number]): boolean =>
    hasBlocks(inputs[1]) && (params as { activations: string }).activations !== "ggml";
  return [
    ...(products.every(({ inputs }) => hasBlocks(inputs[1])) ? [] : (["floats"] as const)),
    ...(products.some(isExact) ? (["exact"] as const) : []),
    ...(nodes.some(({ inputs }) => inputs.some(isForeign)) ? (["codecs"] as const) : []),
    ...(readsBlocks ? (["lookUp"] as const) : []),
    ...(nodes.some(({ op }) => op.name === "quantize") ? (["encoders"] as const) : []),
  ];
}
