import { codePoints, repeat } from "../expression/builders.ts";
import { type Automaton, infinitePart } from "../regular/automaton.ts";
import { emptyNode, type Node, neverNode } from "../regular/nodes.ts";
import { plainRanges } from "../vocabulary/vocabulary.ts";

/** Most pairs of states that are compared to find out whether all plain text is allowed. */
const maxPairs = 128;

const plainText = repeat(codePoints(plainRanges), 0, Infinity);

/** Answers how much plain text a terminal accepts in some state, whatever the text. */
export class PlainText {
  readonly #automaton: Automaton;
  readonly #lengths = new Map<Node, number | undefined>();
  /** The state of any plain text. */
  #text: Node | undefined;

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  reset(): void {
    this.#lengths.clear();
    this.#text = undefined;
  }

  /**
   * The number of code points up to which every plain text leaves `node` alive, and beyond which every plain text kills it. Undefined if
   * there is no such number or finding it takes too long.
   */
  lengthFrom(node: Node): number | undefined {
    if (!this.#lengths.has(node)) this.#lengths.set(node, this.#bounded(node) ?? (this.#acceptsAll(node) ? Infinity : undefined));
    return this.#lengths.get(node);
  }

  /** The maximum of a repetition whose turns are single characters, all plain ones among them, if no plain text follows it. */
  #bounded({ body }: Node): number | undefined {
    const [head, tail] = body.kind === "pair" ? [body.head.body, body.tail] : [body, emptyNode];
    if (head.kind !== "repeat" || head.max === Infinity || tail.isNullable || this.#startsPlain(tail)) return undefined;
    const endless = this.#automaton.repeat(head.item, 0, Infinity);
    // A turn that is over after one byte leads back to the whole repetition, so it cannot be confused with a longer one.
    return this.#automaton.next(endless, 0x20) === endless && this.lengthFrom(endless) === Infinity && this.#hasWholeTurns(endless)
      ? head.max
      : undefined;
  }

  #startsPlain(node: Node): boolean {
    return this.#automaton.firstBytes(node).some((byte) => this.#automaton.next(this.#plain(), byte) !== neverNode);
  }

  /** Whether every plain character is exactly one turn of a repetition without a maximum. */
  #hasWholeTurns(endless: Node): boolean {
    const text = this.#plain();
    for (const [inTerminal, inText] of this.#pairs(endless) ?? []) if (inText === text && inTerminal !== endless) return false;
    return true;
  }

  #acceptsAll(node: Node): boolean {
    const endless = infinitePart(node);
    if (endless === undefined) return this.#pairs(node) !== undefined;
    // As long as infinitely many strings may follow, finitely many that may not do no harm.
    return this.#pairs(endless)?.every(([inTerminal]) => !inTerminal.isFiniteSet) ?? false;
  }

  /** The states of `node` and of any plain text after the same plain texts; undefined if one kills `node`, or if there are too many. */
  #pairs(node: Node): readonly (readonly [inTerminal: Node, inText: Node])[] | undefined {
    const pairs: [Node, Node][] = [[node, this.#plain()]];
    const seen = new Set([`${node.id}.${this.#plain().id}`]);
    for (const [inTerminal, inText] of pairs) {
      const classes = this.#automaton.byteClasses.refine(this.#automaton.classesOf(inTerminal), this.#automaton.classesOf(inText));
      for (const byte of classes.firsts) {
        const textAfter = this.#automaton.next(inText, byte);
        if (textAfter === neverNode) continue;
        const after = this.#automaton.next(inTerminal, byte);
        if (after === neverNode) return undefined;
        const key = `${after.id}.${textAfter.id}`;
        if (seen.has(key)) continue;
        if (seen.size === maxPairs) return undefined;
        seen.add(key);
        pairs.push([after, textAfter]);
      }
    }
    return pairs;
  }

  #plain(): Node {
    this.#text ??= this.#automaton.stateOf(plainText);
    return this.#text;
  }
}
