import { lastOf } from "@centella/quant/checks";
import { matmul } from "../../ops/matmul.ts";
import { rmsNorm } from "../../ops/rmsNorm.ts";
import type { AnyOp } from "../../program/op.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { type FusedParams, isFused } from "./fused.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses a norm into the products that alone read its result: a product with its epilogue, or several products of one tensor. Elementwise
 * calls that already joined the norm come with it, and their result stays an extra output. The group runs where the products do, so no
 * node up to there may read that result, and versions of persistents that the norm reads must not have been written; see
 * {@link delaysOf}. Linear in the number of nodes.
 */
export function fuseNorms(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  for (const norm of nodes) {
    const { output, extraOutputs = [] } = norm;
    const [at = -1, another] = new Set(consumers.get(output));
    const products = nodes[at];
    if (lastOf(callsOf(norm)).op !== rmsNorm || products === undefined || another !== undefined || isOutput.has(output)) continue;
    const isReadBefore = extraOutputs.some((id) => consumers.get(id)?.some((consumer) => consumer <= at));
    if (isReadBefore || !multiplies(products, output) || !mayRunAt(norm, at)) continue;
    grouping.propose({ members: [norm, products], at: products, key: products.op.name });
  }
  return grouping.fusion();
}

/** A call as a group's body has it. The places of a node that is no group are its inputs, the same one for equal inputs. */
interface Call {
  readonly op: AnyOp;
  readonly inputs: readonly (number | undefined)[];
}

function callsOf({ op, inputs, params }: Node): readonly Call[] {
  return isFused(op) ? (params as FusedParams).body : [{ op, inputs: inputs.map((id) => inputs.indexOf(id)) }];
}

/** Whether a node reads a value only as the first tensor of products. */
function multiplies(node: Node, value: number): boolean {
  const place = node.inputs.indexOf(value);
  return callsOf(node).every(({ op, inputs: [first, ...others] }) => (first !== place || op === matmul) && !others.includes(place));
}
