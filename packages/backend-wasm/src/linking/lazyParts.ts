import { NotLoadedError } from "@centella/core";
import { isQuantized, type ProgramGraph } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { formatNameOf } from "../formats/index.ts";
import { type PartName, traitsOf } from "../kernels/traits.ts";

/** Code that few programs need, by part. It is loaded when the first program that needs it is compiled. */
interface LazyParts extends Readonly<Record<PartName, object>> {
  /** Converts weights of types without kernels of their own. */
  readonly codecs: typeof import("./blockCodecs.ts");
  /** Looks up rows of blocks that are stored as they were loaded, and widens blocks. */
  readonly lookUp: typeof import("../blocks/lookUp.ts");
  /** Quantizes to blocks. */
  readonly encoders: typeof import("../blocks/quantize.ts");
  /** Products with weights that are not blocks. */
  readonly floats: typeof import("../matmul/floatPath.ts");
  /** Products with blocks and unrounded activations. */
  readonly exact: typeof import("../matmul/exactPath.ts");
  /** Emits code for memories with 64-bit addresses. */
  readonly widening: typeof import("../emit/widen.ts");
  /** Detects writes outside tensors. */
  readonly writeGuards: typeof import("../memory/writeGuards.ts");
}

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

/** Loads the parts that programs need, for {@link lazyPart}. */
export async function loadPartsOf(programs: readonly ProgramGraph[]): Promise<void> {
  await loadParts(new Set(programs.flatMap(partsOf)));
}

/** Loads parts, by default all. */
export async function loadParts(parts: Iterable<PartName> = Object.keys(loaders) as PartName[]): Promise<void> {
  await Promise.all([...parts].map(load));
}

async function load<K extends PartName>(part: K): Promise<void> {
  loaded[part] ??= await loaders[part]();
}

/** Returns a part if it is loaded. */
export function partIfLoaded<K extends PartName>(part: K): LazyParts[K] | undefined {
  return loaded[part];
}

/** @throws {NotLoadedError} before the part is loaded */
export function lazyPart<K extends PartName>(part: K): LazyParts[K] {
  const found = partIfLoaded(part);
  if (found === undefined) throw notLoaded(part);
  return found;
}

/** The error of a call within which code of this name would have to be loaded. */
export function notLoaded(name: string): NotLoadedError {
  return new NotLoadedError(`wasm: ${name}`, "its code is loaded asynchronously; compile a program that needs it first, or await the call");
}

/** @throws {NotLoadedError} if a part that the program needs is not loaded */
export function requireParts(program: ProgramGraph): void {
  for (const part of partsOf(program)) lazyPart(part);
}

/** The parts that a program needs, from the traits of its kernels and the types of its blocks. */
function partsOf({ nodes, values, outputs }: ProgramGraph): readonly PartName[] {
  const blocksOf = (id: number | undefined): BlockType | undefined => {
    const dtype = id === undefined ? undefined : values[id]?.spec.dtype;
    return dtype !== undefined && isQuantized(dtype) ? dtype : undefined;
  };
  const parts: PartName[] = outputs.some(({ value }) => blocksOf(value)) ? ["lookUp"] : [];
  for (const { op, inputs, params, output } of nodes) {
    const traits = traitsOf(op);
    const ofCall = traits.partsOf?.((input) => blocksOf(inputs[input]) !== undefined, params);
    if (ofCall !== undefined) parts.push(...ofCall);
    for (const [input, id] of inputs.entries()) {
      const type = blocksOf(id);
      if (id === undefined || type === undefined) continue;
      if (formatNameOf(type) !== type) parts.push("codecs");
      const isReadByKernel = input === traits.cacheInput || traits.layoutOf?.(input, params) === "interleaved";
      if (!isReadByKernel || values[id]?.persistent === undefined) parts.push("lookUp");
    }
    if (blocksOf(output) && traits.cacheInput === undefined) parts.push("lookUp");
  }
  return parts;
}
