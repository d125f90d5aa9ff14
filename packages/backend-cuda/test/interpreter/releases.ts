/** Memory with a record of who wrote it last. */
interface Region {
  readonly writer: Float64Array;
}

/** A write of the block to global memory. */
interface Write {
  readonly region: Region;
  readonly i: number;
  readonly thread: number;
  readonly phase: number;
}

interface Release {
  readonly counter: number;
  readonly epoch: number;
}

/** A time in a block: a thread, and the number of the block's barriers before it. */
interface Moment {
  readonly thread: number;
  readonly phase: number;
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
  #writes: Write[] = [];
  readonly #acquired: (Moment & { readonly counter: number; readonly last: number })[] = [];

  constructor(releases: Releases) {
    this.#releases = releases;
  }

  wrote(region: Region, i: number, { thread, phase }: Moment): void {
    this.#writes.push({ region, i, thread, phase });
  }

  /** Releases what the thread has written, and what the others had written before the last barrier. Acquires what was released at the counter. */
  count(release: Release, now: Moment): void {
    const isOver = ({ thread, phase }: Write): boolean => thread === now.thread || phase < now.phase;
    const last = this.#releases.add(release, this.#writes.filter(isOver));
    this.#writes = this.#writes.filter((write) => !isOver(write));
    this.#acquired.push({ ...now, counter: release.counter, last });
  }

  /** Whether the thread may touch a place that a release of the same launch covers. */
  hasAcquired(writer: number, now: Moment): boolean {
    const counter = this.#releases.of(writer)?.counter;
    return this.#acquired.some(
      (each) => each.counter === counter && -writer <= each.last && (each.thread === now.thread || each.phase < now.phase),
    );
  }
}
