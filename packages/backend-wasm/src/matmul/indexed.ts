import { i32, type ModuleBuilder } from "../emit/index.ts";
import { formatNames } from "../formats/index.ts";
import type { BuildContext, Emitted, Exports, Pause } from "../kernel.ts";

/** Functions that multiply rows of one matrix `w` with one token, for `rows` elements of `y`. */
const products: readonly string[] = [
  ...formatNames.flatMap((name) => [`groups1.${name}`, `exactRows.${name}`]),
  ...["f32", "f16", "bf16"].map((dtype) => `inner.vector.${dtype}`),
];

/**
 * Emits `indexed.<product>(ids, count, stride, …)` for each of them: the same with the matrix that `ids` points to the number of, of
 * `count` that lie `stride` bytes apart from `w` on. A number that is none of theirs gives zeros.
 */
export function emitIndexed(module: ModuleBuilder): void {
  for (const name of products) {
    const product = module.find(name, { w: "i32", y: "i32", rows: "i32" });
    const signature = { ids: "i32", count: "i32", stride: "i32", ...product.signature } as const;
    module.function(`indexed.${name}`, signature, (f, params) => {
      const { ids, count, stride, w, y, rows } = params;
      const id = f.let(i32.load(ids));
      f.if(
        i32.ltU(id, count),
        () => f.call(product, { ...params, w: i32.add(w, i32.mul(id, stride)) }),
        () => f.memoryFill(y, 0, i32.shl(rows, 2)),
      );
    });
  }
}

/** Makes products with the matrix at `w` products with the one that `ids` (an address) points to the number of. */
export function indexing({ exports }: Pick<BuildContext, "exports">, count: number, stride: number): (pause: Pause, ids: number) => Pause {
  const indexed = indexedFunctions(exports);
  return (pause, ids) => {
    if (pause === undefined || "fn" in pause) return pause;
    return pause.map((call) => {
      const fn = indexed.get(call.fn);
      return fn === undefined ? call : { fn, args: [ids, count, stride, ...call.args] };
    });
  };
}

function indexedFunctions(exports: Exports): ReadonlyMap<Emitted, Emitted> {
  return new Map(products.map((name) => [exports(name), exports(`indexed.${name}`)]));
}
