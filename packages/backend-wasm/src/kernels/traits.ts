import type { OpName, ParamsOf } from "@centella/core";

/** A file of kernels that is loaded with the first program that needs one of them. */
export type KernelFile = "array" | "copy" | "moe" | "reduction" | "sampling" | "ssm" | "vision";

/** Code that few forms of an op need, loaded with the first program that has one: see lazyParts.ts. */
export type PartName = "codecs" | "lookUp" | "encoders" | "floats" | "exact" | "widening" | "writeGuards";

/** How a weight is stored for the kernels that read it: block rows interleaved by eight, or f32 columns in panels. */
export type WeightLayout = "interleaved" | "packed";

/** What is known of an op's kernel before it is loaded. */
export interface KernelTraits<Params = object> {
  /** The file that has the kernel. By default "array", or none for kernels that are loaded with the backend. */
  readonly file?: KernelFile;
  /** The layout in which the kernel reads a weight at an input, if it has one. */
  layoutOf?(input: number, params: Params): WeightLayout | undefined;
  /** The input that is a KV cache: the kernel reads and writes its blocks itself. */
  readonly cacheInput?: number;
  /** Lazy parts of a call. `hasBlocks` says whether an input is of a block type. */
  partsOf?(hasBlocks: (input: number) => boolean, params: Params): readonly PartName[];
  /** The kind of fused group that the op can anchor. */
  readonly anchors?: "products" | "rows" | "scan";
  /** Whether the op can anchor a group with a prologue: it computes a row in place. */
  readonly takesPrologue?: boolean;
}

const product: Pick<KernelTraits<{ readonly activations: string }>, "partsOf"> = {
  partsOf: (hasBlocks, { activations }) => (!hasBlocks(1) ? ["floats"] : activations === "ggml" ? [] : ["exact"]),
};

/** The traits of kernels that have any. */
const table: { readonly [N in OpName]?: KernelTraits<ParamsOf<N>> } = {
  all: { file: "reduction" },
  any: { file: "reduction" },
  argmax: { file: "reduction" },
  argmin: { file: "reduction" },
  attention: { cacheInput: 1 },
  avgPool2d: { file: "vision" },
  batchNorm: { file: "vision" },
  concat: { file: "copy" },
  conv1d: { file: "vision" },
  conv2d: { file: "vision" },
  deltaScan: { file: "ssm", anchors: "scan" },
  deltaScanWrite: { file: "ssm" },
  embedding: { layoutOf: (input) => (input === 0 ? "interleaved" : undefined) },
  groupNorm: { file: "vision" },
  kvWrite: { cacheInput: 0 },
  layerNorm: { anchors: "rows", takesPrologue: true },
  logSoftmax: { anchors: "rows" },
  matmul: {
    ...product,
    layoutOf: (input, { transposeB }) => (input !== 1 ? undefined : transposeB ? "interleaved" : "packed"),
    anchors: "products",
  },
  max: { file: "reduction" },
  maxPool2d: { file: "vision" },
  mean: { file: "reduction" },
  min: { file: "reduction" },
  moeMatmul: { ...product, file: "moe", layoutOf: (input) => (input === 1 ? "interleaved" : undefined) },
  moeRoute: { file: "moe" },
  moeWeights: { file: "moe" },
  prod: { file: "reduction" },
  quantize: { partsOf: () => ["encoders"] },
  rmsNorm: { anchors: "rows", takesPrologue: true },
  sample: { file: "sampling" },
  slice: { file: "copy" },
  softmax: { anchors: "rows" },
  ssmConv: { file: "ssm" },
  ssmConvWrite: { file: "ssm" },
  ssmScan: { file: "ssm", anchors: "scan" },
  ssmScanWrite: { file: "ssm" },
  sum: { file: "reduction" },
  transpose: { file: "copy" },
};

const none: KernelTraits = {};

/** The traits of an op's kernel. */
export function traitsOf({ name, kernels }: { readonly name: string; readonly kernels?: unknown }): KernelTraits {
  // A user's op may have any name.
  return kernels === undefined && Object.hasOwn(table, name) ? (table[name as OpName] as KernelTraits) : none;
}
