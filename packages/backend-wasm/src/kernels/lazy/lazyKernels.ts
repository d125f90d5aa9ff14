import { NotLoadedError, type OpName } from "@centella/core";
import { type AnyOp, ops, type ProgramGraph } from "@centella/core/backend";
import { addExpressions } from "../../elementwise/expressions/index.ts";
import type { ExpressionTable } from "../../elementwise/expressions/table.ts";
import type { AnyKernel, Kernels } from "../../kernel.ts";
import { kernels } from "../index.ts";

/** Kernels in a file of their own: a page whose backend is opened with `sync: false` downloads it with the first program that has one of their ops. */
interface KernelFile {
  readonly kernels: Kernels;
  readonly expressions?: ExpressionTable;
}

const files = {
  copy: (): Promise<KernelFile> => import("./copyKernels.ts"),
  vision: (): Promise<KernelFile> => import("./visionKernels.ts"),
  moe: (): Promise<KernelFile> => import("./moeKernels.ts"),
  ssm: (): Promise<KernelFile> => import("./ssmKernels.ts"),
  sampling: (): Promise<KernelFile> => import("./samplingKernels.ts"),
  array: (): Promise<KernelFile> => import("./arrayKernels.ts"),
} as const;

type FileName = keyof typeof files;

/** Where ops are that are not with the others. */
const fileOf: { readonly [N in OpName]?: FileName } = {
  concat: "copy",
  slice: "copy",
  transpose: "copy",
  sample: "sampling",
  avgPool2d: "vision",
  batchNorm: "vision",
  conv1d: "vision",
  conv2d: "vision",
  groupNorm: "vision",
  maxPool2d: "vision",
  moeMatmul: "moe",
  moeRoute: "moe",
  moeWeights: "moe",
  ssmConv: "ssm",
  ssmConvWrite: "ssm",
  ssmScan: "ssm",
  ssmScanWrite: "ssm",
};

const loading = new Map<FileName, Promise<void>>();
const loaded = new Map<string, AnyKernel>();

/** Whether an op's kernel is in one of the files. */
export function isLazy({ name, alias, kernels: own }: AnyOp): boolean {
  // An op of the user's own may have any name.
  return alias !== true && own === undefined && Object.hasOwn(ops, name) && !Object.hasOwn(kernels, name);
}

/** Returns the kernel of an op that is loaded on demand. @throws {NotLoadedError} until {@link loadKernels} is done */
export function lazyKernel({ name }: AnyOp): AnyKernel {
  const kernel = loaded.get(name);
  if (kernel === undefined)
    throw new NotLoadedError(`wasm: ${name}`, "its kernel must be waited for; compile a program with it first, or await the call");
  return kernel;
}

/** Loads what programs need of the files. */
export async function loadKernels(programs: readonly ProgramGraph[]): Promise<void> {
  const lazy = programs.flatMap(({ nodes }) => nodes.flatMap(({ op }) => (isLazy(op) ? [op] : [])));
  await loadKernelFiles(new Set(lazy.map(({ name }) => fileOf[name as OpName] ?? "array")));
}

/** Loads files, all of them if it is not said which. */
export async function loadKernelFiles(names: Iterable<FileName> = Object.keys(files) as FileName[]): Promise<void> {
  await Promise.all([...names].map(loadFile));
}

/** Once; again after a download that failed. */
function loadFile(name: FileName): Promise<void> {
  let file = loading.get(name);
  if (file === undefined) {
    file = files[name]().then(
      ({ kernels: own, expressions = {} }) => {
        addExpressions(expressions);
        for (const [op, kernel] of Object.entries(own)) loaded.set(op, kernel as AnyKernel);
      },
      (error: unknown) => {
        loading.delete(name);
        throw error;
      },
    );
    loading.set(name, file);
  }
  return file;
}

/** The kernels of all files that are loaded. */
export function loadedKernels(): readonly AnyKernel[] {
  return [...loaded.values()];
}
