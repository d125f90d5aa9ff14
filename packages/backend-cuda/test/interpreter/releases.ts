import type { Stamps } from "./stamps.ts";

/** Memory with a record of who wrote it last. */
interface Region {
  readonly writer: Float64Array;
}

/** A place of global memory: two bytes. */
interface Place {
  readonly region: Region;
  readonly i: number;
}

/** A write of the block to global memory. */
interface Write extends Place {
  readonly stamp: number;
}

interface Release {
  /** Address of the number that an atomic access has changed. */
  readonly counter: number;
  readonly epoch: number;
  readonly block: BlockReleases;
  /** When the thread released, among those of the block. */
  readonly stamp: number;
}

/** What the blocks of launches released by atomic accesses. A place of global memory that release n covers has the writer -n. */
export class Releases {
  readonly #all: (Release | undefined)[] = [undefined];

  /** Releases places, and returns the number of the release. */
  add(release: Release, places: readonly Place[]): number {
    const number = this.#all.push(release) - 1;
    for (const { region, i } of places) region.writer[i] = -number;
    return number;
  }

  /** Number of the last release. */
  get last(): number {
    return this.#all.length - 1;
  }

  /** The release that a writer of a place stands for. */
  of(writer: number): Release | undefined {
    return writer < 0 ? this.#all[-writer] : undefined;
  }
}

/** Releases at a number up to the `last` one, which a thread has seen. */
interface Sight {
  readonly counter: number;
  readonly last: number;
}

/** What a block has written and not released yet, and what it has acquired. */
export class BlockReleases {
  readonly #releases: Releases;
  readonly #stamps: Stamps;
  #writes: Write[] = [];
  readonly #acquired: (Sight & { readonly stamp: number })[] = [];
  /** By thread, the writes before its last fence. */
  readonly #fenced = new Map<number, ReadonlySet<Write>>();
  /** By thread, what relaxed accesses have seen since its last fence. */
  readonly #seen = new Map<number, Sight[]>();

  /** `stamps` are those of the block. */
  constructor(releases: Releases, stamps: Stamps) {
    this.#releases = releases;
    this.#stamps = stamps;
  }

  wrote(region: Region, i: number, stamp: number): void {
    this.#writes.push({ region, i, stamp });
  }

  /** Releases what the thread has written, what barriers have shown it of other threads, and `places`. Returns the number of the release. */
  release(release: Release, places: readonly Place[]): number {
    return this.#release(release, new Set(this.#writesBefore(release.stamp)), places);
  }

  /** As {@link release}, for what the thread has fenced. Undefined for a thread without a fence. */
  releaseFenced(release: Release, thread: number, places: readonly Place[]): number | undefined {
    const fenced = this.#fenced.get(thread);
    return fenced && this.#release(release, fenced, places);
  }

  /** Acquires what was released at the number. */
  acquire(counter: number, now: number): void {
    this.#acquired.push({ stamp: now, counter, last: this.#releases.last });
  }

  /** Notes that the thread has seen the number. It acquires what was released there with its next fence. */
  see(counter: number, thread: number): void {
    const seen = this.#seen.get(thread) ?? [];
    seen.push({ counter, last: this.#releases.last });
    this.#seen.set(thread, seen);
  }

  fence(thread: number, now: number): void {
    this.#fenced.set(thread, new Set(this.#writesBefore(now)));
    for (const sight of this.#seen.get(thread) ?? []) this.#acquired.push({ ...sight, stamp: now });
    this.#seen.delete(thread);
  }

  /** Whether the thread may touch a place that a release of the same launch covers. */
  hasAcquired(writer: number, now: number): boolean {
    const release = this.#releases.of(writer);
    if (release === undefined) return false;
    if (release.block === this && this.#stamps.areOrdered(release.stamp, now)) return true;
    const { counter } = release;
    return this.#acquired.some((each) => each.counter === counter && -writer <= each.last && this.#stamps.areOrdered(each.stamp, now));
  }

  #writesBefore(now: number): readonly Write[] {
    return this.#writes.filter(({ stamp }) => this.#stamps.areOrdered(stamp, now));
  }

  #release(release: Release, covered: ReadonlySet<Write>, places: readonly Place[]): number {
    const number = this.#releases.add(release, [...this.#writes.filter((write) => covered.has(write)), ...places]);
    this.#writes = this.#writes.filter((write) => !covered.has(write));
    return number;
  }
}
