import { type AnyOp, ops, type ProgramGraph } from "@centella/core/backend";
import { addExpressions } from "../../elementwise/expressions/index.ts";
import type { ExpressionTable } from "../../elementwise/expressions/table.ts";
import type { AnyKernel, Kernels } from "../../kernel.ts";
import { notLoaded } from "../../linking/lazyParts.ts";
import { kernels } from "../index.ts";
import { type KernelFile, traitsOf } from "../traits.ts";

/** What a file of lazy kernels exports. */
interface LoadedFile {
  readonly kernels: Kernels;
  readonly expressions?: ExpressionTable;
}

const files: { readonly [F in KernelFile]: () => Promise<LoadedFile> } = {
  copy: () => import("./copyKernels.ts"),
  vision: () => import("./visionKernels.ts"),
  moe: () => import("./moeKernels.ts"),
  ssm: () => import("./ssmKernels.ts"),
  reduction: () => import("./reductionKernels.ts"),
  sampling: () => import("./samplingKernels.ts"),
  array: () => import("./arrayKernels.ts"),
};

const loading = new Map<KernelFile, Promise<void>>();
const loaded = new Map<string, AnyKernel>();

/** Whether an op's kernel is in one of the files. */
export function isLazy({ name, alias, kernels: own }: AnyOp): boolean {
  // A user-defined op may have any name.
  return alias !== true && own === undefined && Object.hasOwn(ops, name) && !Object.hasOwn(kernels, name);
}

/**
 * Returns a lazily loaded kernel.
 * @throws {NotLoadedError} before {@link loadKernels} has loaded it
 */
export function lazyKernel({ name }: AnyOp): AnyKernel {
  const kernel = loaded.get(name);
  if (kernel === undefined) throw notLoaded(name);
  return kernel;
}

/** Loads the kernels that programs need. */
export async function loadKernels(programs: readonly ProgramGraph[]): Promise<void> {
  const lazy = programs.flatMap(({ nodes }) => nodes.flatMap(({ op }) => (isLazy(op) ? [op] : [])));
  await loadKernelFiles(new Set(lazy.map((op) => traitsOf(op).file ?? "array")));
}

/** Loads files, by default all. */
export async function loadKernelFiles(names: Iterable<KernelFile> = Object.keys(files) as KernelFile[]): Promise<void> {
  await Promise.all([...names].map(loadFile));
}

/** Loads a file once, and again after a failed download. */
function loadFile(name: KernelFile): Promise<void> {
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

/** All loaded lazy kernels. */
export function loadedKernels(): readonly AnyKernel[] {
  return [...loaded.values()];
}
