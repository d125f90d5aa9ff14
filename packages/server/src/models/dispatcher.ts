/** Characters of a piece of a text whose hash is remembered. */
const pieceLength = 256;
/** Pieces of each text that are remembered. */
const maxPieces = 64;
/** Beginnings that are remembered for each engine, the latest ones. */
const maxRemembered = 16_384;

/** What the dispatcher knows of an engine. */
interface Lane {
  /** Texts that it computes at the same time. */
  readonly sequences: number;
  /** Texts that it computes and that wait for it. */
  load: number;
  /** Whether its device is lost, so that it computes nothing any more. */
  isLost: boolean;
  /** Hashes of the beginnings of its texts, the latest last. */
  readonly beginnings: Set<number>;
}

/** Chooses an engine for each text: one that has computed the longest beginning of the text and has room, or else the one with the least load. */
export class Dispatcher {
  readonly #lanes: readonly Lane[];

  /** @param sequences texts that each engine computes at the same time */
  constructor(sequences: readonly number[]) {
    this.#lanes = sequences.map((count) => ({ sequences: count, load: 0, isLost: false, beginnings: new Set() }));
  }

  /** Number of the engine for a text. Call {@link leave} after it. */
  enter(text: string): number {
    const hashes = beginningsOf(text);
    const shares = this.#lanes.map(({ beginnings }) => sharedCount(hashes, beginnings));
    let best = 0;
    for (const [i, lane] of this.#lanes.entries()) if (this.#isBetter(lane, shares[i]!, this.#lanes[best]!, shares[best]!)) best = i;
    this.enterLane(best);
    remember(this.#lanes[best]!.beginnings, hashes);
    return best;
  }

  /** Counts a text that must be computed by this engine. */
  enterLane(lane: number): void {
    this.#lanes[lane]!.load++;
  }

  leave(lane: number): void {
    this.#lanes[lane]!.load--;
  }

  /** Records a failure of an engine. One that has lost its device gets no texts while another is left. */
  fail(lane: number, error: unknown): void {
    if ((error as { readonly code?: unknown } | null)?.code === "deviceLost") this.#lanes[lane]!.isLost = true;
  }

  #isBetter(a: Lane, sharedA: number, b: Lane, sharedB: number): boolean {
    if (a.isLost !== b.isLost) return b.isLost;
    const [roomA, roomB] = [a.load < a.sequences, b.load < b.sequences];
    if (roomA !== roomB) return roomA;
    if (roomA && sharedA !== sharedB) return sharedA > sharedB;
    return a.load / a.sequences < b.load / b.sequences;
  }
}

/** Hashes of the text's first piece, of the first two pieces, and so on (FNV-1a). A collision costs time, not correctness. */
function beginningsOf(text: string): readonly number[] {
  const hashes: number[] = [];
  let hash = 0x811c9dc5;
  const end = Math.min(text.length - (text.length % pieceLength), pieceLength * maxPieces);
  for (let at = 0; at < end; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    if ((at + 1) % pieceLength === 0) hashes.push(hash);
  }
  return hashes;
}

function sharedCount(hashes: readonly number[], known: ReadonlySet<number>): number {
  const end = hashes.findIndex((hash) => !known.has(hash));
  return end < 0 ? hashes.length : end;
}

function remember(known: Set<number>, hashes: readonly number[]): void {
  for (const hash of hashes) {
    known.delete(hash);
    known.add(hash);
  }
  for (const oldest of known) {
    if (known.size <= maxRemembered) return;
    known.delete(oldest);
  }
}
