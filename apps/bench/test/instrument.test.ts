import { describe, expect, test } from "vitest";
import { measureRows, type Settings } from "../src/runner/measure.ts";
import { type Contestant, type Row, Skip, type Subject } from "../src/runner/subject.ts";
import { timed } from "../src/runner/timed.ts";
import { agree, type Estimate, estimateMedian, estimateRatio, median, type Passes, verdictOf } from "../src/stats/bootstrap.ts";
import { random } from "../src/stats/random.ts";

const settings: Settings = { passes: 5, rounds: 4, sampleSeconds: 0.01, warmupSeconds: 0, warmupCalls: 2 };

/** A machine whose clock only moves when a kernel "runs": speed drifts, and every call jitters. */
function machine(seed: number, { jitter, drift = 0 }: { readonly jitter: number; readonly drift?: number }) {
  const next = random(seed);
  let now = 0;
  let calls = 0;
  const order: string[] = [];
  return {
    order,
    contestant(name: string, ms: number, result: readonly number[] = [1, 2, 3]): Contestant {
      const work = (): void => {
        order.push(name);
        calls++;
        now += ms * (1 + drift * Math.sin(calls / 40)) * (1 + jitter * next());
      };
      const subject: Subject = { sample: timed(work, { clock: () => now }), result: async () => result, dispose: () => undefined };
      return { name, side: "ours", threads: 1, prepare: async () => subject };
    },
  };
}

function rowOf(contestants: readonly Contestant[]): Row {
  return {
    id: "row",
    metric: "µs",
    bound: "none",
    work: {},
    data: "-",
    isLarge: false,
    contestants,
    verify: (result) => (Array.from(result).join() === "1,2,3" ? undefined : `expected 1,2,3, got ${Array.from(result).join()}`),
  };
}

async function passesOf(contestants: readonly Contestant[]): Promise<readonly Passes[]> {
  const [measured] = await measureRows([rowOf(contestants)], settings);
  return measured!.outcomes.map(({ outcome }) => {
    if (outcome.status !== "measured") throw new Error(outcome.reason);
    return outcome.passes;
  });
}

async function ratioOf(
  seed: number,
  a: number,
  b: number,
  options: { readonly jitter: number; readonly drift?: number },
): Promise<Estimate> {
  const simulated = machine(seed, options);
  const [first, second] = await passesOf([simulated.contestant("a", a), simulated.contestant("b", b)]);
  return estimateRatio(first!, second!, seed);
}

describe("a comparison", () => {
  test("reports a deliberately slowed kernel as slower, by what it was slowed", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const ratio = await ratioOf(seed, 1.1, 1, { jitter: 0.05, drift: 0.1 });
      expect(verdictOf(ratio), `seed ${seed}`).toBe("slower");
      expect(ratio.median).toBeGreaterThan(1 / 1.2);
      expect(ratio.low).toBeLessThan(1 / 1.05);
    }
  });

  test("of equal subjects has an interval that contains 1, as often as a 95 % interval should", async () => {
    let contains = 0;
    for (let seed = 1; seed <= 100; seed++) if (verdictOf(await ratioOf(seed, 1, 1, { jitter: 0.1, drift: 0.2 })) === "equal") contains++;
    expect(contains).toBeGreaterThanOrEqual(93);
  });

  test("on a noisy machine widens the interval; the verdict turns to equal before it turns wrong", async () => {
    let widened = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const quiet = await ratioOf(seed, 1, 1.03, { jitter: 0.01 });
      const noisy = await ratioOf(seed, 1, 1.03, { jitter: 1, drift: 0.5 });
      expect(verdictOf(quiet)).toBe("faster");
      expect(verdictOf(noisy), `seed ${seed}`).not.toBe("slower");
      if (noisy.high - noisy.low > 3 * (quiet.high - quiet.low)) widened++;
    }
    expect(widened).toBeGreaterThanOrEqual(38);
  });

  test("pairs samples: a machine that gets slower while it measures does not change the ratio", () => {
    const slowing = [1, 1.5, 2, 2.5].map((factor) => Array.from({ length: 5 }, () => factor));
    const halved = slowing.map((pass) => pass.map((seconds) => seconds / 2));
    expect(estimateRatio(halved, slowing, 1)).toEqual({ median: 2, low: 2, high: 2 });
  });

  test("refuses samples that are no pairs", () => {
    expect(() => estimateRatio([[1, 2]], [[1]], 1)).toThrow(/in pairs/);
    expect(() => estimateRatio([[1]], [[1], [1]], 1)).toThrow(/in pairs/);
  });
});

describe("a median", () => {
  test("of even and odd counts, and of none", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  test("has an interval that covers the true one about 95 times in 100", () => {
    let covered = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const next = random(seed * 7919);
      const passes = Array.from({ length: 6 }, () => Array.from({ length: 5 }, () => next()));
      const { low, high } = estimateMedian(passes, seed);
      if (low <= 0.5 && 0.5 <= high) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(279);
  });

  test("shows drift between passes that samples drawn one by one would hide", () => {
    const drifting = [1, 1.1, 1.2, 1.3, 1.4, 1.5].map((speed) => Array.from({ length: 10 }, () => speed));
    const pooled = [drifting.flat()];
    const width = ({ low, high }: Estimate): number => high - low;
    expect(width(estimateMedian(drifting, 1))).toBeGreaterThan(1.5 * width(estimateMedian(pooled, 1)));
  });

  test("is the same for the same seed", () => {
    const passes = [
      [1, 2, 3],
      [2, 3, 4],
    ];
    expect(estimateMedian(passes, 5)).toEqual(estimateMedian(passes, 5));
  });

  test("of two runs of the same machine agrees within the intervals on at least 95 % of rows", async () => {
    let agreed = 0;
    for (let row = 1; row <= 60; row++) {
      const run = async (seed: number): Promise<Estimate> => {
        const [passes] = await passesOf([machine(seed, { jitter: 0.2, drift: 0.2 }).contestant("a", 1)]);
        return estimateMedian(passes!, seed);
      };
      if (agree(await run(row), await run(row + 1000))) agreed++;
    }
    expect(agreed).toBeGreaterThanOrEqual(57);
  });
});

describe("the runner", () => {
  test("interleaves the subjects and takes the promised samples", async () => {
    const simulated = machine(1, { jitter: 0 });
    const passes = await passesOf([simulated.contestant("a", 20), simulated.contestant("b", 20)]);
    expect(passes.map((pass) => pass.map(({ length }) => length))).toEqual([Array(5).fill(4), Array(5).fill(4)]);
    // Two warm-up calls each, then in turn, each sample after one untimed call.
    expect(simulated.order.join("")).toMatch(/^aabb(aabb)+$/);
  });

  test("repeats short calls within a sample and divides by them", async () => {
    const [passes] = await passesOf([machine(1, { jitter: 0 }).contestant("a", 0.001)]);
    expect(median(passes!.flat())).toBeCloseTo(1e-6, 9);
  });

  test("rotates buffer sets over all calls", async () => {
    const sets: number[] = [];
    const subject: Subject = {
      async sample(calls, first) {
        sets.push(...Array.from({ length: calls }, (_, i) => first + i));
        return 0.01 * calls;
      },
      result: async () => undefined,
      dispose: () => undefined,
    };
    await passesOf([{ name: "a", side: "ours", threads: 1, prepare: async () => subject }]);
    expect(sets).toEqual(sets.map((_, i) => i));
  });

  test("fails a wrong result and keeps the remaining ones", async () => {
    const simulated = machine(1, { jitter: 0 });
    const [measured] = await measureRows([rowOf([simulated.contestant("bad", 1, [1, 2, 4]), simulated.contestant("good", 1)])], settings);
    expect(measured!.outcomes.map(({ outcome }) => outcome.status)).toEqual(["failed", "measured"]);
    expect(measured!.outcomes[0]!.outcome).toMatchObject({ reason: "wrong result: expected 1,2,3, got 1,2,4" });
  });

  test("skips with the reason, fails what breaks, and disposes of everything once", async () => {
    let alive = 0;
    const make = (fails: boolean): Contestant => ({
      name: "x",
      side: "ours",
      threads: 1,
      async prepare() {
        alive++;
        return {
          sample: async (calls) => {
            if (fails) throw new Error("device lost");
            return calls * 0.01;
          },
          result: async () => undefined,
          dispose: () => {
            alive--;
          },
        };
      },
    });
    const skipping: Contestant = {
      name: "s",
      side: "peer",
      threads: 1,
      prepare: async () => {
        throw new Skip("not installed");
      },
    };
    const [measured] = await measureRows([rowOf([make(true), make(false), skipping])], settings);
    expect(measured!.outcomes.map(({ outcome }) => outcome)).toMatchObject([
      { status: "failed", reason: "device lost" },
      { status: "measured" },
      { status: "skipped", reason: "not installed" },
    ]);
    expect(alive).toBe(0);
  });

  test("prepares large rows again in each pass", async () => {
    let prepared = 0;
    const contestant: Contestant = {
      name: "a",
      side: "ours",
      threads: 1,
      prepare: async () => {
        prepared++;
        return { sample: async (calls) => calls * 0.01, result: async () => undefined, dispose: () => undefined };
      },
    };
    await measureRows([{ ...rowOf([contestant]), isLarge: true }], settings);
    expect(prepared).toBe(settings.passes);
  });
});
