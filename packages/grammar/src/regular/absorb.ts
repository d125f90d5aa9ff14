import type { Meter } from "../budget.ts";
import { emptyNode, type Node, parts } from "./nodes.ts";

/** Parts of a sequence that are compared. Longer sequences are left as they are. */
const maxParts = 64;

/** Most nodes that are compared with remembered results: those of larger sets hardly come back. */
const maxRemembered = 32;
/** Estimated bytes of a remembered result. */
const resultBytes = 60;

/** Whether nodes are part of others, remembered for the nodes of small sets, which come back in many states. */
export class Absorption {
  readonly #meter: Meter;
  readonly #known = new Map<Node, Map<Node, boolean>>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  reset(): void {
    this.#known.clear();
  }

  /**
   * Drops the alternatives that are part of another one, such as `aC*` beside `C*`. Without this, each pattern that has been found would
   * double the states that follow.
   */
  dropAbsorbed(alternatives: Set<Node>): void {
    for (const whole of alternatives) {
      if (!isEndless(whole)) continue;
      for (const each of alternatives) if (each !== whole && this.#absorbs(whole, each, alternatives.size)) alternatives.delete(each);
    }
  }

  /** Drops the conditions that another one implies. */
  dropImplied(conditions: Set<Node>): void {
    for (const whole of conditions) {
      if (!isEndless(whole)) continue;
      for (const each of conditions) {
        if (each === whole || !this.#absorbs(whole, each, conditions.size)) continue;
        conditions.delete(whole);
        break;
      }
    }
  }

  #absorbs(whole: Node, node: Node, size: number): boolean {
    this.#meter.work(1);
    if (size > maxRemembered) return absorbs(whole, node);
    let known = this.#known.get(whole);
    if (known === undefined) {
      known = new Map();
      this.#known.set(whole, known);
    }
    let result = known.get(node);
    if (result === undefined) {
      result = absorbs(whole, node);
      this.#meter.charge(resultBytes);
      known.set(node, result);
    }
    return result;
  }
}

/** Whether a node is any number of turns and then something else. */
function isEndless(node: Node): boolean {
  const { body } = parts(node).head;
  return body.kind === "repeat" && body.min === 0 && body.max === Infinity;
}

/** Whether the forms show that each string of `node` is one of `whole`, which is endless. */
function absorbs(whole: Node, node: Node): boolean {
  if (node.body.kind === "choice") return node.body.items.every((item) => absorbsSequence(whole, item));
  if (node.body.kind === "and") return node.body.items.some((item) => item === whole || absorbsSequence(whole, item));
  return absorbsSequence(whole, node);
}

function absorbsSequence(whole: Node, node: Node): boolean {
  const { head, tail } = parts(whole);
  if (head.body.kind !== "repeat") return false;
  let rest: Node | undefined = node;
  for (let i = 0; i < maxParts && rest !== undefined; i++) {
    if (rest === whole || rest === tail) return true;
    rest = afterTurn(head.body.item, rest);
  }
  return false;
}

/** What follows the beginning of `node`, if that is some turns of `turn`. */
function afterTurn(turn: Node, node: Node): Node | undefined {
  const { head, tail } = parts(node);
  const alternatives = turn.body.kind === "choice" ? turn.body.items : [turn];
  if (head.body.kind === "repeat") {
    const { item } = head.body;
    return item === turn || alternatives.some((each) => includesBytes(each, item)) ? tail : undefined;
  }
  for (const alternative of alternatives) {
    const rest = afterBytes(alternative, node);
    if (rest !== undefined) return rest;
  }
  return undefined;
}

/** What follows the bytes of `sequence` in `node`, each of which has to be in the set at its place. */
function afterBytes(sequence: Node, node: Node): Node | undefined {
  while (sequence !== emptyNode) {
    const [wanted, found] = [parts(sequence), parts(node)];
    if (!includesBytes(wanted.head, found.head)) return undefined;
    [sequence, node] = [wanted.tail, found.tail];
  }
  return node;
}

function includesBytes({ body: all }: Node, { body }: Node): boolean {
  return all.kind === "bytes" && body.kind === "bytes" && body.set.every((bits, i) => (bits & ~(all.set[i] ?? 0)) === 0);
}
