import type { Stamps } from "./stamps.ts";

/** Memory with a record of who wrote it last. */
interface Region {
  readonly writer: Float64Array;
}

/** A write of the block to global memory. */
interface Write {
  readonly region: Region;
  readonly i: number;
  readonly stamp: number;
}

interface Release {
  readonly counter: number;
  readonly epoch: number;
}

/** What the blocks of launches released by counting. A place of global memory that release n covers has the writer -n. */
export class Releases {
  readonly #all: (Release | undefined)[] = [undefined];

  /** Releases places, and returns the number of the release. */
  add(release: Release, places: readonly Write[]): number {
    const number = this.#all.push(release) - 1;
    for (const { region, i } of places) region.writer[i] = -number;
    return number;
  }

  /** The release that a writer of a place stands for. */
  of(writer: number): Release | undefined {
    return writer < 0 ? this.#all[-writer] : undefined;
  }
}

/** What a block has written and not released yet, and what it has acquired. */
export class BlockReleases {
  readonly #releases: Releases;
  readonly #stamps: Stamps;
  #writes: Write[] = [];
  readonly #acquired: { readonly stamp: number; readonly counter: number; readonly last: number }[] = [];

  /** `stamps` are those of the block. */
  constructor(releases: Releases, stamps: Stamps) {
    this.#releases = releases;
    this.#stamps = stamps;
  }

  wrote(region: Region, i: number, stamp: number): void {
    this.#writes.push({ region, i, stamp });
  }

  /** Releases what the thread has written, and what barriers have shown it of other threads. Acquires what was released at the counter. */
  count(release: Release, now: number): void {
    const isOver = ({ stamp }: Write): boolean => this.#stamps.areOrdered(stamp, now);
    const last = this.#releases.add(release, this.#writes.filter(isOver));
    this.#writes = this.#writes.filter((write) => !isOver(write));
    this.#acquired.push({ stamp: now, counter: release.counter, last });
  }

  /** Whether the thread may touch a place that a release of the same launch covers. */
  hasAcquired(writer: number, now: number): boolean {
    const counter = this.#releases.of(writer)?.counter;
    return this.#acquired.some((each) => each.counter === counter && -writer <= each.last && this.#stamps.areOrdered(each.stamp, now));
  }
}
