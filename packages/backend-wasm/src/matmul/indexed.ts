import { i32, type ModuleBuilder } from "../emit/index.ts";
import type { BuildContext, Stage } from "../kernel.ts";

/**
 * Emits `indexed.<product>(ids, count, stride, …)` for functions that multiply rows of a matrix `w` with one token. The
 * matrix is chosen by the id at address `ids`, among `count` matrices `stride` bytes apart. Other ids give zeros.
 */
export function emitIndexed(module: ModuleBuilder, products: readonly string[]): void {
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

/** Turns calls of a product with the matrix at `w` into calls with the matrix whose id is at address `ids`. */
export function indexing(
  { exports }: Pick<BuildContext, "exports">,
  product: string,
  count: number,
  stride: number,
): (stage: Stage, ids: number) => Stage {
  const [plain, indexed] = [exports(product), exports(`indexed.${product}`)];
  return (stage, ids) => {
    if (stage === undefined || "fn" in stage) return stage;
    return stage.map((call) => (call.fn === plain ? { fn: indexed, args: [ids, count, stride, ...call.args] } : call));
  };
}
