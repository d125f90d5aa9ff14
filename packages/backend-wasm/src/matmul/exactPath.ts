import type { ModuleBuilder } from "../emit/index.ts";
import { type FormatName, formatNames } from "../formats/index.ts";
import { groupedBytes } from "../formats/interleave.ts";
import type { BuildContext } from "../kernel.ts";
import { emitExactGroups } from "./exactGroups.ts";
import { exactProduct, exactScratch } from "./exactProduct.ts";
import { emitFloats } from "./floatPath.ts";
import { emitIndexed } from "./indexed.ts";
import type { Path } from "./product.ts";

/** Products of blocks with unrounded activations, which programs must request. */

/** Emits the functions of such products, after {@link emitFloats}. */
export function emitExact(module: ModuleBuilder): void {
  emitExactGroups(module);
  emitIndexed(
    module,
    formatNames.map((name) => `exactRows.${name}`),
  );
}

/** The path for blocks of format `form`. */
export function exactPath({ exports, include, target, threads, maxThreads }: BuildContext, form: FormatName): Path {
  include(emitFloats);
  include(emitExact);
  return {
    single: `exactRows.${form}`,
    matrixBytes: (n, k) => groupedBytes(form, n, k),
    multiply: exactProduct(exports, form, threads, maxThreads),
    scratch: exactScratch(target, maxThreads),
  };
}
