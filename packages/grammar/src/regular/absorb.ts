import { emptyNode, type Node, parts } from "./nodes.ts";

/** Parts of a sequence that are compared. Longer sequences are left as they are. */
const maxParts = 64;

/**
 * Drops the alternatives that are part of another one, such as `aC*` beside `C*`. Without this, each pattern that has been found would double
 * the states that follow.
 */
export function dropAbsorbed(alternatives: Set<Node>): void {
  for (const whole of alternatives) {
    if (!isEndless(whole)) continue;
    for (const each of alternatives) if (each !== whole && absorbs(whole, each)) alternatives.delete(each);
  }
}

/** Drops the conditions that another one implies. */
export function dropImplied(conditions: Set<Node>): void {
  for (const whole of conditions) {
    if (!isEndless(whole)) continue;
    for (const each of conditions) {
      if (each === whole || !absorbs(whole, each)) continue;
      conditions.delete(whole);
      break;
    }
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
