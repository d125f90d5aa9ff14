import { isHalf } from "@centella/quant";
import { encodeHalf } from "../../backend/decode.ts";
import { decodedArrayOf, type TypedArray } from "../../dtype.ts";
import { add } from "../../ops/add.ts";
import { div } from "../../ops/div.ts";
import { mul } from "../../ops/mul.ts";
import { type ScaleParams, scale } from "../../ops/scale.ts";
import { sub } from "../../ops/sub.ts";
import { type Node, type ProgramGraph, specOf, type ValueInfo, valueAt } from "../../program/programGraph.ts";
import { type ConcreteSpec, elementCount, isConcrete, sameShape } from "../../spec.ts";
import { renamedOutputs, versions, withChanges } from "./graph.ts";

/**
 * Folds scalars that are known when the program is recorded. The results have the same bits, except for the last rule, which
 * rounds once where the program rounds twice:
 * - an elementwise call whose inputs are all constants of one element becomes a constant, computed by the op's reference;
 * - `x * 1`, `x / 1`, `x - 0`, `x + (-0)` and, on i32, `x + 0` become `x` (`x + 0` on f32 is no identity: it turns -0 into 0);
 * - `x * c` becomes `scale(x, c)` for a finite c;
 * - `scale(scale(x, a), b)` becomes `scale(x, a b)` where both factors shrink or both grow, so that no overflow on the way is
 *   missed, and where `a b` is a normal f32.
 *
 * A fold never makes a call read a persistent later than recorded, because it may have been written in between.
 */
export function foldConstants(program: ProgramGraph): ProgramGraph {
  const fold = new Fold(program);
  const nodes = program.nodes.flatMap((node) => fold.node(node));
  return withChanges(program, { values: fold.values, nodes, outputs: renamedOutputs(program, fold.replaced) });
}

class Fold {
  readonly values: ValueInfo[];
  readonly replaced = new Map<number, number>();
  readonly #inPersistent: ReadonlyMap<number, number>;
  /** Calls of `scale` so far, by their output. */
  readonly #scales = new Map<number, Node>();

  constructor(program: ProgramGraph) {
    this.values = [...program.values];
    this.#inPersistent = versions(program);
  }

  /** The nodes that replace a node: none or one. */
  node(recorded: Node): readonly Node[] {
    const inputs = recorded.inputs.map((id) => (id === undefined ? undefined : (this.replaced.get(id) ?? id)));
    const node = { ...recorded, inputs };
    const constant = this.#constantOf(node);
    const same = constant ?? this.#identityOf(node);
    if (same !== undefined) {
      this.replaced.set(node.output, same);
      return [];
    }
    const folded = this.#mergedScale(this.#asScale(node));
    if (folded.op === scale) this.#scales.set(folded.output, folded);
    return [folded];
  }

  #constantOf({ op, inputs, params, output }: Node): number | undefined {
    const spec = specOf(this, output);
    if (op.elementwise !== true || op.reference === undefined || inputs.length === 0 || !isScalar(spec)) return undefined;
    const tensors = [];
    for (const id of inputs) {
      const data = this.#scalarOf(id);
      if (id === undefined || data === undefined) return undefined;
      tensors.push({ spec: specOf(this, id) as ConcreteSpec, data });
    }
    const result = decodedArrayOf(spec.dtype).of(0);
    op.reference(tensors, params, { spec, data: result });
    const data = isHalf(spec.dtype) ? encodeHalf(spec.dtype, result as Float32Array) : result;
    const id = this.values.length;
    this.values.push({ id, spec, definition: { kind: "constant", data }, persistent: undefined });
    return id;
  }

  #identityOf(node: Node): number | undefined {
    const { op, inputs, params, output } = node;
    const [x, c] = op === mul || op === add ? this.#constantLast(node) : inputs;
    if (x === undefined || this.#inPersistent.has(x)) return undefined;
    const spec = specOf(this, x);
    if (!sameShape(spec.shape, specOf(this, output).shape)) return undefined;
    if (op === scale) return (params as ScaleParams).by === 1 ? x : undefined;
    const value = this.#scalarOf(c)?.[0];
    if (value === undefined) return undefined;
    if (op === mul || op === div) return value === 1 ? x : undefined;
    if (op === sub) return Object.is(value, 0) ? x : undefined;
    if (op === add) return spec.dtype === "i32" ? (value === 0 ? x : undefined) : Object.is(value, -0) ? x : undefined;
    return undefined;
  }

  #asScale(node: Node): Node {
    if (node.op !== mul) return node;
    const [x, c] = this.#constantLast(node);
    const by = this.#scalarOf(c)?.[0];
    if (x === undefined || by === undefined || !Number.isFinite(by)) return node;
    const { dtype, shape } = specOf(this, x);
    if (dtype !== "f32" || !sameShape(shape, specOf(this, node.output).shape)) return node;
    return { op: scale, inputs: [x], params: { by } satisfies ScaleParams, output: node.output };
  }

  #mergedScale(node: Node): Node {
    const [scaled] = node.inputs;
    const inner = node.op === scale && scaled !== undefined ? this.#scales.get(scaled) : undefined;
    const [x] = inner?.inputs ?? [];
    if (inner === undefined || x === undefined || this.#inPersistent.has(x)) return node;
    const [a, b] = [(inner.params as ScaleParams).by, (node.params as ScaleParams).by];
    const by = a * b;
    const sameWay = Math.abs(a) >= 1 === Math.abs(b) >= 1;
    if (!sameWay || Math.abs(by) < 2 ** -126 || Math.abs(by) > 2 ** 127) return node;
    return { ...node, inputs: inner.inputs, params: { by } satisfies ScaleParams };
  }

  /** The inputs of a commutative call, a scalar constant as the second. */
  #constantLast({ inputs: [a, b] }: Node): readonly (number | undefined)[] {
    return this.#scalarOf(b) === undefined && this.#scalarOf(a) !== undefined ? [b, a] : [a, b];
  }

  /** The data of an f32 or i32 constant of one element. */
  #scalarOf(id: number | undefined): TypedArray | undefined {
    if (id === undefined) return undefined;
    const { spec, definition } = valueAt(this, id);
    if (definition.kind !== "constant" || !isScalar(spec) || (spec.dtype !== "f32" && spec.dtype !== "i32")) return undefined;
    return definition.data;
  }
}

function isScalar(spec: ValueInfo["spec"]): spec is ConcreteSpec {
  return isConcrete(spec) && elementCount(spec.shape) === 1;
}
