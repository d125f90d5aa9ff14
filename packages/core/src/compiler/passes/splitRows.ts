import { add } from "../../ops/add.ts";
import { concat } from "../../ops/concat.ts";
import { embedding } from "../../ops/embedding.ts";
import { type MatmulParams, matmul } from "../../ops/matmul.ts";
import { sub } from "../../ops/sub.ts";
import type { AnyOp } from "../../program/op.ts";
import { type Node, type ProgramGraph, specOf, type ValueInfo, type ValueSource, valueAt } from "../../program/programGraph.ts";
import type { ConcreteSpec, TensorSpec } from "../../spec.ts";
import { withChanges } from "./graph.ts";

/** Rows of a matrix of weights that a kernel can read at once; undefined if it can read all of them. */
export type RowsAtOnce = (weights: ConcreteSpec) => number | undefined;

/**
 * Splits weights `[n, k]` of which a kernel cannot read all rows at once: each call that reads such a weight becomes one per part of the rows.
 * Products of parts are joined along their columns. Rows of a table are sums over its parts, of which all but one are zero.
 *
 * Other uses of a weight stay as they are.
 */
export function splitRows(program: ProgramGraph, rowsAtOnce: RowsAtOnce): ProgramGraph {
  const split = new Split(program, rowsAtOnce);
  const nodes = program.nodes.flatMap((node) => split.node(node));
  return nodes.length === program.nodes.length ? program : withChanges(program, { values: split.values, nodes });
}

/** Some rows of a weight. */
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
      const rows = parts.map(({ from, value }) => this.#call(embedding, [value, this.#idsFrom(ids, from)], {}));
      const last = rows.pop()!;
      const sum = rows.reduce((total, each) => this.#call(add, [total, each], {}));
      return this.#take({ op: add, inputs: [sum, last], params: {}, output });
    }
    return [node];
  }

  #partsOf(id: number): readonly Part[] | undefined {
    if (!this.#parts.has(id)) this.#parts.set(id, this.#newParts(valueAt(this.#program, id)));
    return this.#parts.get(id);
  }

  #newParts({ definition, spec }: ValueInfo): readonly Part[] | undefined {
    if (definition.kind !== "persistent" || spec.shape.length !== 2) return undefined;
    const { name } = definition;
    const [n, k] = spec.shape as readonly [number, number];
    const persistent = this.#program.persistents.get(name);
    const rows = persistent?.init === "load" ? this.#rowsAtOnce(persistent.spec) : undefined;
    if (rows === undefined) return undefined;
    return Array.from({ length: Math.ceil(n / rows) }, (_, i) => {
      const from = i * rows;
      const part = { dtype: spec.dtype, shape: [Math.min(rows, n - from), k] };
      return { from, value: this.#value(part, { kind: "persistent", name, from: from * k }) };
    });
  }

  /** Ids of a table as those of its rows from `from` on: ids of other rows are out of range. */
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
