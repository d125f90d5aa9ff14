import { matmul } from "../../ops/matmul.ts";
import { type Node, type ProgramGraph, specOf } from "../../program/programGraph.ts";
import { structuralKey } from "../../program/structuralKey.ts";
import { sameShape } from "../../spec.ts";
import { type FusedParams, isElementwise, isFused } from "./fused.ts";
import { consumersOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses products of one tensor with several matrices, such as a model's queries, keys and values, into one node with a result for
 * each. Elementwise calls and groups that read such products, which nothing else reads, join them: `silu(x·a) * (x·b)` is one node.
 *
 * The node runs where the first of the products did, so its other inputs must be computed by then. Everything in it moves to an
 * earlier place, and a version of a persistent is never written before a read that was recorded earlier than the write. A group
 * that the backend refuses is tried without the elementwise calls, then for the matrices of each dtype alone. Linear in the
 * number of nodes.
 */
export function fuseSiblings(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { maxCalls = Infinity } = limits;
  const graph = new Graph(program);
  const grouping = new Grouping(program, refuses, limits);

  const propose = (first: Node, members: readonly Node[]): boolean => {
    const calls = members.flatMap(({ op, params }) => (isFused(op) ? (params as FusedParams).body.map((call) => call.op) : [op]));
    if (calls.length > maxCalls) return false;
    return grouping.propose({ members, at: first, key: calls.map(({ name }) => name).join() });
  };
  const fuseFamily = (products: readonly Node[]): void => {
    const [first, second] = products;
    if (first === undefined || second === undefined) return;
    const epilogues = graph.epilogues(products, first);
    if (epilogues.length > 0 && propose(first, [...products, ...epilogues])) return;
    if (propose(first, products)) return;
    const byType = groupBy(products, ({ inputs: [, matrix] }) => (matrix === undefined ? "" : specOf(program, matrix).dtype));
    if (byType.length > 1) for (const sameType of byType) fuseFamily(sameType);
  };

  for (const family of families(program)) {
    const [first] = family;
    if (first !== undefined) fuseFamily(family.filter(({ inputs: [, matrix] }) => graph.isKnownBefore(matrix, first)));
  }
  return grouping.fusion();
}

/** Products with the same first tensor and the same parameters, in order. */
function families({ nodes }: ProgramGraph): readonly (readonly Node[])[] {
  const products = nodes.filter(({ op }) => op === matmul);
  return groupBy(products, ({ op, inputs, params }) => `${inputs[0]} ${structuralKey(op.name, params)}`);
}

/** Items with equal keys together, all in order. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/** Answers questions about the calls around products. */
class Graph {
  readonly #program: ProgramGraph;
  readonly #isOutput: ReadonlySet<number>;
  readonly #consumers: ReadonlyMap<number, readonly number[]>;
  readonly #producers: ReadonlyMap<number, number>;

  constructor(program: ProgramGraph) {
    const { nodes, outputs } = program;
    this.#program = program;
    this.#isOutput = new Set(outputs.map(({ value }) => value));
    this.#consumers = consumersOf(nodes);
    this.#producers = new Map(nodes.map(({ output }, i) => [output, i]));
  }

  /** Whether a value is computed before a node runs. */
  isKnownBefore(id: number | undefined, node: Node): boolean {
    return id === undefined || this.#indexOf(id) < this.#indexOf(node.output);
  }

  /** Elementwise calls and groups of the products' shapes that are the only readers of the products that they read, in order. */
  epilogues(products: readonly Node[], first: Node): readonly Node[] {
    const results = new Set(products.map(({ output }) => output));
    const readers = new Set([...results].flatMap((id) => this.#consumers.get(id) ?? []));
    const sorted = [...readers].sort((a, b) => a - b);
    return sorted.flatMap((index) => {
      const node = this.#program.nodes[index];
      return node !== undefined && this.#isEpilogue(node, index, results, first) ? [node] : [];
    });
  }

  #isEpilogue(node: Node, index: number, results: ReadonlySet<number>, first: Node): boolean {
    const { shape } = specOf(this.#program, node.output);
    const isOwn = (id: number): boolean =>
      !this.#isOutput.has(id) &&
      sameShape(specOf(this.#program, id).shape, shape) &&
      this.#consumers.get(id)?.every((consumer) => consumer === index) === true;
    return (
      isElementwise(node) && node.inputs.every((id) => (id !== undefined && results.has(id) ? isOwn(id) : this.isKnownBefore(id, first)))
    );
  }

  /** Index of the node that computes a value; -1 for inputs, persistents and constants. */
  #indexOf(id: number): number {
    return this.#producers.get(id) ?? -1;
  }
}
