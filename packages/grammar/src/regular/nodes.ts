import type { AutomatonState } from "../expression/types.ts";
import { elementAt } from "../lookup.ts";
import type { ByteClasses } from "./byteClasses.ts";
import type { ByteSet } from "./byteSet.ts";

/** The form of a regular expression over bytes. */
export type Body =
  | { readonly kind: "never" }
  | { readonly kind: "empty" }
  /** One byte of the set. */
  | { readonly kind: "bytes"; readonly set: ByteSet }
  /** What follows the first `start` bytes of the words `from` to `to` (exclusive) of a sorted list. The words share these bytes. */
  | { readonly kind: "words"; readonly list: readonly Uint8Array[]; readonly from: number; readonly to: number; readonly start: number }
  /** The head and then the tail. The head is no pair. */
  | { readonly kind: "pair"; readonly head: Node; readonly tail: Node }
  | { readonly kind: "choice"; readonly items: readonly Node[] }
  | { readonly kind: "and"; readonly items: readonly Node[] }
  | { readonly kind: "not"; readonly item: Node }
  | { readonly kind: "automaton"; readonly states: readonly AutomatonState[]; readonly state: number }
  | { readonly kind: "repeat"; readonly item: Node; readonly min: number; readonly max: number };

/** What is known of an expression from its parts. */
export interface Traits {
  /** Whether the empty string matches. */
  readonly isNullable: boolean;
  /** Whether the expression has an intersection or a complement, so that it may match nothing without being `neverNode`. */
  readonly isComplex: boolean;
  /** Whether it is known that only a finite number of strings match. */
  readonly isFiniteSet: boolean;
  /** Levels of nesting, apart from the tails of pairs. */
  readonly depth: number;
}

/** The nodes after each class of bytes. */
export interface Steps {
  readonly classes: ByteClasses;
  readonly nodes: Node[];
}

/** The node after `byte`. */
export function stepBy({ classes, nodes }: Steps, byte: number): Node {
  return nodes[classes.of[byte]!]!;
}

/** A regular expression over bytes in normal form: a state of an automaton. All nodes have one shape, which keeps the walks of masks fast. */
export class Node implements Traits {
  /** Order of creation, which sorts the items of choices and intersections. */
  readonly id: number;
  readonly body: Body;
  readonly isNullable: boolean;
  readonly isComplex: boolean;
  readonly isFiniteSet: boolean;
  readonly depth: number;
  /** The one byte that matching strings start with, or -1 if there are several or this is not known. */
  readonly soleByte: number;
  /** The state after that byte, once it is known. Such states need no row. */
  soleNext: Node | undefined = undefined;
  /** Derivatives, once they are known. Some may be dead without being `neverNode`. */
  derivatives: Steps | undefined = undefined;
  /** States: the derivatives, with `neverNode` for all that are dead. */
  row: Steps | undefined = undefined;
  /** Kinds of bytes that lead back to this state, or -1 until they are known. */
  loops = -1;
  /** Bytes of some matching string, a short one where one is known; Infinity if none is. */
  distance: number;
  /** Whether any string matches; undefined until it is decided. */
  isLive: boolean | undefined;

  constructor(id: number, body: Body, { isNullable, isComplex, isFiniteSet, depth }: Traits) {
    this.id = id;
    this.body = body;
    this.isNullable = isNullable;
    this.isComplex = isComplex;
    this.isFiniteSet = isFiniteSet;
    this.depth = depth;
    this.isLive = isComplex ? undefined : body.kind !== "never";
    this.distance = isNullable ? 0 : distanceOf(body);
    this.soleByte = isNullable || isComplex ? -1 : soleByteOf(body);
  }
}

/** Bytes of some matching string, as far as the form shows one. */
function distanceOf(body: Body): number {
  switch (body.kind) {
    case "bytes":
      return 1;
    case "words":
      return elementAt(body.list, body.from).length - body.start;
    case "pair":
      return body.head.distance + body.tail.distance;
    case "choice":
      return body.items.reduce((least, { distance }) => Math.min(least, distance), Infinity);
    case "repeat":
      return body.min * body.item.distance;
    default:
      return Infinity;
  }
}

function soleByteOf(body: Body): number {
  if (body.kind === "pair") return body.head.soleByte;
  if (body.kind !== "words") return -1;
  const [first, last] = [elementAt(body.list, body.from), elementAt(body.list, body.to - 1)];
  const byte = elementAt(first, body.start);
  return last[body.start] === byte ? byte : -1;
}

const simple = { isComplex: false, isFiniteSet: true, depth: 0 };
/** Matches nothing. */
export const neverNode: Node = new Node(0, { kind: "never" }, { ...simple, isNullable: false });
/** Matches the empty string. */
export const emptyNode: Node = new Node(1, { kind: "empty" }, { ...simple, isNullable: true });
/** Matches every string. */
export const everyNode: Node = new Node(2, { kind: "not", item: neverNode }, { ...simple, isNullable: true, isFiniteSet: false });
/** First id for other nodes. */
export const firstId = 3;

/** The first part of a sequence and the remaining ones. */
export function parts(node: Node): { readonly head: Node; readonly tail: Node } {
  return node.body.kind === "pair" ? node.body : { head: node, tail: emptyNode };
}
