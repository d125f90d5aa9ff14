import type { ParamsOf, TensorSpec } from "@centella/core";
import {
  type ElementwiseGroup,
  elementAt,
  elementCount,
  type FusedCall,
  type FusedParams,
  type GroupResult,
  lastOf,
  type Operand,
  resultsOf,
  sameShape,
  specAt,
} from "@centella/core/backend";
import { buildFusedLoop, type Columns, fusedLoop } from "../elementwise/kernel.ts";
import { formatNameOf } from "../formats/index.ts";
import type { BuildContext, Call, FusedKernel, Run, Stage } from "../kernel.ts";
import { choosePath } from "../kernels/matmul.ts";
import { aligned } from "../kernels/shared/aligned.ts";
import { zip } from "../kernels/shared/zip.ts";
import { traitsOf } from "../kernels/traits.ts";
import { sharedUnits } from "../matmul/product.ts";

/**
 * Products of one tensor with several matrices, with elementwise epilogues: `[x·a, x·b + c]`, `silu(x·a) * (x·b)`. All
 * products form one stage, for which `x` is rounded or packed once. For a single row, the thread that computes a tile
 * also computes its epilogue while the tile is in its cache.
 */
export const fusedProducts: FusedKernel = {
  unsupported(inputs, params) {
    const { body } = params;
    const results = resultsOf(inputs.length, params);
    for (const call of body.filter(isProduct)) {
      const { a, b, transposeA } = productOf(call);
      if (a >= inputs.length || b >= inputs.length) return "a product with a result of the group";
      const { shape } = elementAt(inputs, b);
      if (shape.length !== 2 || transposeA) return "products of batches or of transposed tensors are not fused";
      if (!shape.every((dim) => typeof dim === "number" && dim > 0)) return "a matrix with an extent that is 0 or unknown";
    }
    if (results.reduce((sum, { calls }) => sum + calls.length, 0) > body.length) return "results share calls";
    for (const { call, anchors } of results) {
      const { dtype, shape } = elementAt(body, call).output;
      if (dtype !== "f32") return `${dtype} results after a product`;
      if (!anchors.every((index) => isProduct(elementAt(body, index)))) return "an epilogue of calls other than products";
      if (!anchors.every((index) => sameShape(elementAt(body, index).output.shape, shape)))
        return "products whose shape differs from that of their epilogue";
    }
    for (const { elementwise } of results) {
      const reason = elementwise && fusedLoop.unsupported?.(specsOf(inputs, params, elementwise), elementwise.params, elementwise.output);
      if (reason !== undefined) return reason;
    }
    return undefined;
  },
  emitted(inputs, params) {
    return resultsOf(inputs.length, params).flatMap(({ elementwise }) => {
      if (elementwise === undefined) return [];
      return fusedLoop.emitted(specsOf(inputs, params, elementwise), elementwise.params, elementwise.output);
    });
  },
  build(context, inputs, params, output, extraOutputs = []) {
    const memory = new Scratch();
    const stored = [...extraOutputs, output];
    const results = zip(resultsOf(inputs.length, params), stored).map(([result, y]) =>
      buildResult(context, memory, inputs, params, result, y),
    );
    context.reserve(memory.bytes);
    return function* (run): Iterable<Stage> {
      const rows = elementCount(run.shape(output).slice(0, -1));
      if (rows === 0) return;
      if (rows === 1) {
        yield* atOnce(results.flatMap((result) => result.ofOneRow(run)));
        return;
      }
      yield* atOnce(results.flatMap((result) => result.ofRows(run, rows)));
      const loops = results.flatMap(({ epilogue }) => (epilogue === undefined ? [] : callsIn(epilogue(run))));
      yield loops;
    };
  },
};

type MatmulParams = ParamsOf<"matmul">;

function specsOf(inputs: readonly TensorSpec[], params: FusedParams, { places }: ElementwiseGroup) {
  return places.map((place) => specAt(inputs, params, place));
}

function isProduct({ op }: FusedCall): boolean {
  return traitsOf(op).anchors === "products";
}

/** Places of a product's inputs, and its parameters. */
function productOf({ inputs, params }: FusedCall): { readonly a: number; readonly b: number } & MatmulParams {
  return { a: elementAt(inputs, 0), b: elementAt(inputs, 1), ...(params as MatmulParams) };
}

/** Allocates scratch memory of one step, relative to its start in a run. */
class Scratch {
  bytes = 0;
  readonly #shared = new Map<string, number>();

  take(bytes: number): number {
    const at = this.bytes;
    this.bytes += aligned(bytes);
    return at;
  }

  /** Returns the same memory for every request with this key and size. */
  share(key: string, bytes: number): number {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const at = this.take(bytes);
    this.#shared.set(key, at);
    return at;
  }
}

/** How one result is computed: iterables that can run at the same time, stage by stage. */
interface BuiltResult {
  ofOneRow(run: Run): readonly Iterable<Stage>[];
  /** The products of several rows; `epilogue` runs after all of them. */
  ofRows(run: Run, rows: number): readonly Iterable<Stage>[];
  readonly epilogue: Epilogue | undefined;
}

/** Rows of a matrix that every path processes together. */
const rowUnit = 32;

/** One product of a result. */
interface BuiltProduct {
  /** Multiplies `m` rows with some or all columns. */
  multiply(run: Run, m: number, columns?: Columns): Iterable<Stage>;
  readonly k: number;
  /** Whether columns of a single row can be computed separately. */
  readonly hasPieces: boolean;
  /** Offset of the product in scratch memory. Undefined: it is stored in the result's memory. */
  readonly target: number | undefined;
  readonly operand: Operand;
}

function buildProduct(
  context: BuildContext,
  memory: Scratch,
  inputs: readonly Operand[],
  call: FusedCall,
  y: Operand,
  isLast: boolean,
): BuiltProduct {
  const { rows, n } = maxExtents(context, y);
  const { a: aPlace, b: bPlace, ...params } = productOf(call);
  const [a, b] = [elementAt(inputs, aPlace), elementAt(inputs, bPlace)];
  const path = choosePath(context, b, params);
  const k = lastOf(context.max(a).shape);
  const bytes = path.scratch(rows, n, k);
  const form = context.interleaving(b);
  // The scratch of interleaved rows depends only on `a` and their format.
  const scratch = form === undefined ? memory.take(bytes) : memory.share(`${form} of ${b.spec.dtype}`, bytes);
  const target = isLast ? undefined : memory.take(4 * rows * n);
  return {
    multiply: (run, m, { from, count } = { from: 0, count: n }) =>
      path.multiply({
        a: run.address(a),
        b: run.address(b) + path.matrixBytes(from, k),
        y: (target === undefined ? run.address(y) : run.scratch + target) + 4 * from,
        m,
        n: count,
        k,
        scratch: run.scratch + scratch,
      }),
    k,
    hasPieces: params.transposeB && (form !== undefined || formatNameOf(b.spec.dtype) === undefined),
    target,
    operand: { spec: call.output, storage: y.storage },
  };
}

/** Maximum number of rows of a result, and its columns. */
function maxExtents({ max }: BuildContext, y: Operand): { readonly rows: number; readonly n: number } {
  const { shape } = max(y);
  return { rows: elementCount(shape.slice(0, -1)), n: lastOf(shape) };
}

function buildResult(
  context: BuildContext,
  memory: Scratch,
  inputs: readonly Operand[],
  { body }: FusedParams,
  { anchors, elementwise }: GroupResult,
  y: Operand,
): BuiltResult {
  const { n } = maxExtents(context, y);
  const products = anchors.map((index, i) => buildProduct(context, memory, inputs, elementAt(body, index), y, i === anchors.length - 1));
  const epilogue = elementwise && buildEpilogue(context, inputs, products, anchors, elementwise, y);
  const ofRows = (run: Run, rows: number): readonly Iterable<Stage>[] => products.map(({ multiply }) => multiply(run, rows));

  /** Pieces of a single row: the products of some columns, and their epilogue. */
  function* inPieces(run: Run, finish: Epilogue): Iterable<Stage> {
    const work = products.reduce((sum, { k }) => sum + k, 0);
    const size = Math.ceil(sharedUnits(work, n * work, context.threads) / rowUnit) * rowUnit;
    const pieces = Array.from({ length: Math.ceil(n / size) }, (_, i) => {
      const columns = { from: i * size, count: Math.min(size, n - i * size) };
      return { columns, works: products.map(({ multiply }) => [...multiply(run, 1, columns)]) };
    });
    yield* atOnce(pieces.flatMap(({ works }) => works.map((stages) => stages.slice(0, -1))));
    yield pieces.map(({ columns, works }) => {
      const calls = [...works.flatMap((stages) => callsIn(stages.at(-1))), ...callsIn(finish(run, columns))];
      return { ...elementAt(calls, 0), chained: calls.slice(1) };
    });
  }

  function* whole(run: Run, finish: Epilogue): Iterable<Stage> {
    yield* atOnce(ofRows(run, 1));
    yield finish(run);
  }

  return {
    ofOneRow(run) {
      if (epilogue === undefined) return ofRows(run, 1);
      return [products.every(({ hasPieces }) => hasPieces) ? inPieces(run, epilogue) : whole(run, epilogue)];
    },
    ofRows,
    epilogue,
  };
}

type Epilogue = ReturnType<typeof buildFusedLoop>;

/** The elementwise calls of a result. They read the products where these are stored. */
function buildEpilogue(
  context: BuildContext,
  inputs: readonly Operand[],
  products: readonly BuiltProduct[],
  anchors: readonly number[],
  { places, params }: ElementwiseGroup,
  y: Operand,
): Epilogue {
  const operands = places.map((place) => products[anchors.indexOf(place - inputs.length)]?.operand ?? elementAt(inputs, place));
  const loop = buildFusedLoop(context, operands, params, y);
  const withProducts = (run: Run): Run => ({
    ...run,
    address: (operand) => {
      const product = products.find((each) => each.operand === operand);
      return product?.target === undefined ? run.address(operand) : run.scratch + product.target;
    },
  });
  return (run, columns) => loop(withProducts(run), columns);
}

/** Runs iterables in parallel, stage by stage. Identical lists of calls are made once. */
function* atOnce(works: readonly Iterable<Stage>[]): Iterable<Stage> {
  let left = works.map((work) => work[Symbol.iterator]());
  while (left.length > 0) {
    const lists: (readonly Call[])[] = [];
    left = left.filter((work) => {
      const { done, value } = work.next();
      const calls = callsIn(value as Stage);
      if (done !== true && !lists.some((list) => areEqual(list, calls))) lists.push(calls);
      return done !== true;
    });
    yield lists.flat();
  }
}

function areEqual(some: readonly Call[], others: readonly Call[]): boolean {
  const isSame = (a: Call, b: Call): boolean => a.fn === b.fn && a.args.every((arg, i) => arg === b.args[i]) && !a.chained && !b.chained;
  return some.length === others.length && zip(some, others).every(([a, b]) => isSame(a, b));
}

/** The calls of a stage, one by one. */
function callsIn(stage: Stage): readonly Call[] {
  if (stage === undefined) return [];
  if (!("fn" in stage)) return stage;
  const { fn, args, total, grain } = stage;
  return Array.from({ length: Math.ceil(total / grain) }, (_, tile) => {
    const begin = tile * grain;
    return { fn, args: [...args, begin, Math.min(total, begin + grain)] };
  });
}
