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
  | { readonly kind: "repeat"; readonly item: Node; readonly min: number; readonly max: number };

/** What is known of an expression from its parts. */
export interface Traits {
  /** Whether the empty string matches. */
  readonly isNullable: boolean;
  /** Whether the expression has an intersection or a complement, so that it may match nothing without being `neverNode`. */
  readonly isComplex: boolean;
  /** Levels of nesting, apart from the tails of pairs. */
  readonly depth: number;
}

/** A regular expression over bytes in normal form: a state of an automaton. All nodes have one shape, which keeps the walks of masks fast. */
export class Node implements Traits {
  /** Order of creation, which sorts the items of choices and intersections. */
  readonly id: number;
  readonly body: Body;
  readonly isNullable: boolean;
  readonly isComplex: boolean;
  readonly depth: number;
  /** Derivatives by byte, of which some may be dead without being `neverNode`. */
  derivatives: Node[] | undefined = undefined;
  /** States by byte: the derivatives, with `neverNode` for all that are dead. */
  row: readonly Node[] | undefined = undefined;
  /** Whether any string matches; undefined until it is decided. */
  isLive: boolean | undefined;

  constructor(id: number, body: Body, { isNullable, isComplex, depth }: Traits) {
    this.id = id;
    this.body = body;
    this.isNullable = isNullable;
    this.isComplex = isComplex;
    this.depth = depth;
    this.isLive = isComplex ? undefined : body.kind !== "never";
  }
}

const simple = { isComplex: false, depth: 0 };
/** Matches nothing. */
export const neverNode: Node = new Node(0, { kind: "never" }, { ...simple, isNullable: false });
/** Matches the empty string. */
export const emptyNode: Node = new Node(1, { kind: "empty" }, { ...simple, isNullable: true });
/** Matches every string. */
export const everyNode: Node = new Node(2, { kind: "not", item: neverNode }, { ...simple, isNullable: true });
/** First id for other nodes. */
export const firstId = 3;
