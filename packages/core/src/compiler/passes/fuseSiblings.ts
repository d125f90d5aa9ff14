import { matmul } from "../../ops/matmul.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { structuralKey } from "../../program/structuralKey.ts";
import { sameShape } from "../../spec.ts";
import { compose, type FusedNode, isElementwise } from "./fused.ts";
import { type Fusion, type FusionLimits, formatBody, type RefusesGroup } from "./fuseElementwise.ts";
import { consumersOf, withChanges } from "./graph.ts";

/**
 * Fuses products of one tensor with several matrices, such as a model's queries, keys and values, into one node with a result for
 * each. Elementwise calls and groups that read such products, which nothing else reads, join them: `silu(x·a) * (x·b)` is one node.
 *
 * The node runs where the first of the products did, so what else it reads must be there by then. Everything in it moves to an
 * earlier place, and a version of a persistent is never written before a read that was recorded earlier than the write. What a
 * backend refuses is tried without the elementwise calls, then for the matrices of each dtype alone. Linear in the number of nodes.
 */
export function fuseSiblings(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes, values } = program;
  const graph = new Graph(program);
  const notes = new Set<string>();
  const made = new Map<number, Node>();
  const absorbed = new Set<number>();

  const tryGroup = (members: readonly number[]): boolean => {
    const node = compose(
      values,
      members.map((i) => nodes[i]!),
    );
    if (!fits(node, limits)) return false;
    const specs = node.inputs.map((id) => values[id]!.spec);
    const reason = refuses(specs, node.params, values[node.output]!.spec);
    if (reason !== undefined) {
      notes.add(`${formatBody(node.params)}: ${reason}`);
      return false;
    }
    made.set(members[0]!, node);
    for (const member of members) absorbed.add(member);
    return true;
  };
  const fuseFamily = (products: readonly number[]): void => {
    if (products.length < 2) return;
    const finishing = graph.finishing(products);
    if (finishing.length > 0 && tryGroup([...products, ...finishing])) return;
    if (tryGroup(products)) return;
    const byType = grouped(products, (i) => values[nodes[i]!.inputs[1]!]!.spec.dtype);
    if (byType.length > 1) for (const alike of byType) fuseFamily(alike);
  };

  for (const family of families(program)) fuseFamily(family.filter((i) => graph.isKnownBefore(nodes[i]!.inputs[1], family[0]!)));
  const after = nodes.flatMap((node, i) => made.get(i) ?? (absorbed.has(i) ? [] : [node]));
  return { program: withChanges(program, { nodes: after }), notes: [...notes] };
}

/** Products with the same first tensor and the same parameters, in order. */
function families({ nodes }: ProgramGraph): readonly (readonly number[])[] {
  const products = nodes.flatMap(({ op }, i) => (op === matmul ? [i] : []));
  return grouped(products, (i) => `${nodes[i]!.inputs[0]} ${structuralKey(nodes[i]!.op.name, nodes[i]!.params)}`);
}

/** What has the same key together, all in order. */
function grouped<T>(all: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const found = new Map<string, T[]>();
  for (const item of all) {
    const known = found.get(keyOf(item));
    if (known === undefined) found.set(keyOf(item), [item]);
    else known.push(item);
  }
  return [...found.values()];
}

function fits({ inputs, params }: FusedNode, { maxInputs = Infinity, maxCalls = Infinity }: FusionLimits): boolean {
  return inputs.length <= maxInputs && params.body.length <= maxCalls;
}

/** What can be asked about the calls around products. */
class Graph {
  readonly #nodes: readonly Node[];
  readonly #values: ProgramGraph["values"];
  readonly #isOutput: ReadonlySet<number>;
  readonly #consumers: ReadonlyMap<number, readonly number[]>;
  readonly #producers: ReadonlyMap<number, number>;

  constructor({ nodes, values, outputs }: ProgramGraph) {
    this.#nodes = nodes;
    this.#values = values;
    this.#isOutput = new Set(outputs.map(({ value }) => value));
    this.#consumers = consumersOf(nodes);
    this.#producers = new Map(nodes.map(({ output }, i) => [output, i]));
  }

  isKnownBefore(id: number | undefined, index: number): boolean {
    return id === undefined || (this.#producers.get(id) ?? -1) < index;
  }

  /** Elementwise calls and groups of the products' shapes that are the only ones to read the products that they read, in order. */
  finishing(products: readonly number[]): readonly number[] {
    const made = new Set(products.map((i) => this.#nodes[i]!.output));
    const readers = new Set([...made].flatMap((id) => this.#consumers.get(id) ?? []));
    return [...readers].filter((i) => this.#finishes(i, made, products[0]!)).sort((a, b) => a - b);
  }

  #finishes(index: number, made: ReadonlySet<number>, first: number): boolean {
    const node = this.#nodes[index]!;
    const { shape } = this.#values[node.output]!.spec;
    const isOwn = (id: number): boolean =>
      !this.#isOutput.has(id) &&
      sameShape(this.#values[id]!.spec.shape, shape) &&
      this.#consumers.get(id)!.every((consumer) => consumer === index);
    return isElementwise(node) && node.inputs.every((id) => (id !== undefined && made.has(id) ? isOwn(id) : this.isKnownBefore(id, first)));
  }
}
