import { type Node, type ProgramGraph, specOf } from "../../program/programGraph.ts";
import type { TensorSpec } from "../../spec.ts";
import { compose, type FusedParams } from "./fused.ts";
import { withChanges } from "./graph.ts";

/** What a backend can bind and compile in one kernel. */
export interface FusionLimits {
  /** Tensors that a group may read. */
  readonly maxInputs?: number;
  /** Calls in a group. */
  readonly maxCalls?: number;
}

/** The reason why a backend has no kernel for a group; undefined if it has one. */
export type RefusesGroup = (inputs: readonly TensorSpec[], params: FusedParams, output: TensorSpec) => string | undefined;

/** A group that could be one kernel and is not. */
export interface RefusedGroup {
  /** Names of the ops in its body. */
  readonly ops: readonly string[];
  /** The backend's reason. */
  readonly reason: string;
}

/** A program after fusion, and the groups that the backend refused. */
export interface Fusion {
  readonly program: ProgramGraph;
  readonly refused: readonly RefusedGroup[];
}

/** A group that a pass suggests. */
interface Proposal {
  /** In recorded order. */
  readonly members: readonly Node[];
  /** The member in whose place the group runs. */
  readonly at: Node;
  /** Only the first refused group of each key is reported. */
  readonly key: string;
  /** Values that leave the group although other members read them. */
  readonly kept?: ReadonlySet<number>;
}

/** Collects the groups of one pass. Asks the backend about each. */
export class Grouping {
  readonly #program: ProgramGraph;
  readonly #refuses: RefusesGroup;
  readonly #maxInputs: number;
  /** Groups by the node whose place they take. */
  readonly #groups = new Map<Node, Node>();
  readonly #members = new Set<Node>();
  readonly #refused = new Map<string, RefusedGroup>();

  constructor(program: ProgramGraph, refuses: RefusesGroup, { maxInputs = Infinity }: FusionLimits) {
    this.#program = program;
    this.#refuses = refuses;
    this.#maxInputs = maxInputs;
  }

  /** Whether a group takes the place of a node. */
  isGrouped(node: Node): boolean {
    return this.#groups.has(node);
  }

  /** Makes one node of several. Returns false if it would read too many tensors, or if the backend refuses it. */
  propose({ members, at, key, kept }: Proposal): boolean {
    const { values } = this.#program;
    const node = compose(values, members, kept);
    if (node.inputs.length > this.#maxInputs) return false;
    const inputs = node.inputs.map((id) => specOf(this.#program, id));
    const reason = this.#refuses(inputs, node.params, specOf(this.#program, node.output));
    if (reason === undefined) {
      this.#groups.set(at, node);
      for (const member of members) this.#members.add(member);
    } else if (!this.#refused.has(key)) this.#refused.set(key, { ops: node.params.body.map(({ op }) => op.name), reason });
    return reason === undefined;
  }

  fusion(): Fusion {
    const nodes = this.#program.nodes.flatMap((node) => this.#groups.get(node) ?? (this.#members.has(node) ? [] : [node]));
    return { program: withChanges(this.#program, { nodes }), refused: [...this.#refused.values()] };
  }
}
