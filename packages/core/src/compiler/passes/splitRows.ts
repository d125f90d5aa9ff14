import { add } from "../../ops/add.ts";
import { concat } from "../../ops/concat.ts";
import { embedding } from "../../ops/embedding.ts";
import { type MatmulParams, matmul } from "../../ops/matmul.ts";
import { moeMatmul } from "../../ops/moeMatmul.ts";
import { sub } from "../../ops/sub.ts";
import type { AnyOp } from "../../program/op.ts";
import { type Node, type ProgramGraph, specOf, type ValueInfo, type ValueSource, valueAt } from "../../program/programGraph.ts";
import { type ConcreteSpec, elementCount, type TensorSpec } from "../../spec.ts";
import { withChanges } from "./graph.ts";

/** Rows of weights, along the first axis, that a kernel can read at once: experts of a stack. Undefined if it can read all of them. */
export type RowsAtOnce = (weights: ConcreteSpec) => number | undefined;

/**
 * Splits weights `[n, k]` of which a kernel cannot read all rows at once: each call that reads such a weight becomes one per part of the rows.
 * Products of parts are joined along their columns. Rows of a table are sums over its parts, of which all but one are zero. Stacks of
 * experts `[e, n, k]` are split between experts, and their products are such sums.
 *
 * Other uses of a weight stay as they are.
 */
export function splitRows(program: ProgramGraph, rowsAtOnce: RowsAtOnce): ProgramGraph {
  const split = new Split(program, rowsAtOnce);
  const nodes = program.nodes.flatMap((node) => split.node(node));
  return nodes.length === program.nodes.length ? program : withChanges(program, { values: split.values, nodes });
}

/** Some rows of a weight, or experts of a stack. */
interface Part {
  readonly from: number;
  readonly value: number;
}

class Split {
  readonly values: ValueInfo[];
  readonly #program: ProgramGraph;
  readonly #rowsAtOnce: RowsAtOnce;
  readonly #parts = new Map<number, readonly Part[] | undefined>();
  #nodes: Node[] = [];

  constructor(program: ProgramGraph, rowsAtOnce: RowsAtOnce) {
    this.#program = program;
    this.values = [...program.values];
    this.#rowsAtOnce = rowsAtOnce;
  }

  /** The nodes that replace a node. */
  node(node: Node): readonly Node[] {
    const { op, inputs, params, output } = node;
    if (op === matmul && (params as MatmulParams).transposeB) {
      const [a, b] = inputs as readonly [number, number];
      const parts = this.#partsOf(b);
      if (parts === undefined) return [node];
      const products = parts.map(({ value }) => this.#call(matmul, [a, value], params));
      return this.#take({ op: concat, inputs: products, params: { axis: -1 }, output });
    }
    if (op === embedding) {
      const [table, ids] = inputs as readonly [number, number];
      const parts = this.#partsOf(table);
      if (parts === undefined) return [node];
      return this.#sumOf(parts, output, ({ from, value }) => this.#call(embedding, [value, this.#idsFrom(ids, from)], {}));
    }
    if (op === moeMatmul) {
      const [x, experts, ids] = inputs as readonly [number, number, number];
      const parts = this.#partsOf(experts);
      if (parts === undefined) return [node];
      return this.#sumOf(parts, output, ({ from, value }) => this.#call(moeMatmul, [x, value, this.#idsFrom(ids, from)], params));
    }
    return [node];
  }

  /** A value as the sum over parts, of which all but one are zero at each place. */
  #sumOf(parts: readonly Part[], output: number, compute: (part: Part) => number): readonly Node[] {
    const values = parts.map(compute);
    const last = values.pop()!;
    const sum = values.reduce((total, each) => this.#call(add, [total, each], {}));
    return this.#take({ op: add, inputs: [sum, last], params: {}, output });
  }

  #partsOf(id: number): readonly Part[] | undefined {
    if (!this.#parts.has(id)) this.#parts.set(id, this.#newParts(valueAt(this.#program, id)));
    return this.#parts.get(id);
  }

  #newParts({ definition, spec }: ValueInfo): readonly Part[] | undefined {
    if (definition.kind !== "persistent" || spec.shape.length < 2 || spec.shape.length > 3) return undefined;
    const { name } = definition;
    if (this.#program.persistents.get(name)?.init !== "load") return undefined;
    const [count, ...row] = spec.shape as readonly [number, ...number[]];
    const atOnce = this.#rowsAtOnce({ dtype: spec.dtype, shape: [count, ...row] });
    if (atOnce === undefined) return undefined;
    return Array.from({ length: Math.ceil(count / atOnce) }, (_, i) => {
      const from = i * atOnce;
      const part = { dtype: spec.dtype, shape: [Math.min(atOnce, count - from), ...row] };
      return { from, value: this.#value(part, { kind: "persistent", name, from: from * elementCount(row) }) };
    });
  }

  /** Ids of a table's rows, or of experts, as those from `from` on: other ids are out of range. */
  #idsFrom(ids: number, from: number): number {
    if (from === 0) return ids;
    const start = this.#value({ dtype: "i32", shape: [1] }, { kind: "constant", data: Int32Array.of(from) });
    return this.#call(sub, [ids, start], {});
  }

  #call(op: AnyOp, inputs: readonly number[], params: object): number {
    const specs = inputs.map((id) => specOf(this, id));
    const output = this.#value(op.infer(specs, params), { kind: "node" });
    this.#nodes.push({ op, inputs, params, output });
    return output;
  }

  #value(spec: TensorSpec, definition: ValueSource): number {
    const id = this.values.length;
    this.values.push({ id, spec, definition, persistent: undefined });
    return id;
  }

  #take(last: Node): readonly Node[] {
    const nodes = [...this.#nodes, last];
    this.#nodes = [];
    return nodes;
  }
}
