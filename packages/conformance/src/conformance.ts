import type { Backend } from "@centella/core";
import { type ConformanceTest, NotApplicable } from "./conformanceTest.ts";
import { opTests } from "./opTests.ts";
import { programTests } from "./programs/index.ts";

/** Outcome of one test of {@link runConformance}. */
export interface ConformanceResult {
  readonly id: string;
  readonly status: "passed" | "failed" | "skipped";
  /** The failure, or the reason of the skip. */
  readonly message: string;
}

export interface RunConformanceOptions {
  /** Only tests whose id it accepts. */
  readonly filter?: (id: string) => boolean;
}

/** Every test that a backend must pass: the cases of all ops, then whole programs. */
export function conformanceTests(): readonly ConformanceTest[] {
  return [...opTests(), ...programTests];
}

/**
 * Ids of a sample for a second engine, where another has run everything: of each op its first golden and its first case of its own,
 * and all whole programs.
 */
export function conformanceSample(): ReadonlySet<string> {
  const seen = new Set<string>();
  const isFirst = (key: string): boolean => !seen.has(key) && seen.add(key) !== undefined;
  const ids = opTests()
    .map(({ id }) => id)
    .filter((id) => isFirst(`${id.slice(0, id.indexOf(":"))} ${id.includes(": golden: ")}`));
  return new Set([...ids, ...programTests.map(({ id }) => id)]);
}

/** Runs the suite on an open backend without a test runner, e.g. in a page. Results come one by one. */
export async function* runConformance(
  backend: Backend,
  { filter = () => true }: RunConformanceOptions = {},
): AsyncGenerator<ConformanceResult, void, undefined> {
  for (const { id, unsupported, run } of conformanceTests()) {
    if (!filter(id)) continue;
    const reason = unsupported(backend);
    if (reason !== undefined) {
      yield { id, status: "skipped", message: reason };
      continue;
    }
    try {
      await run(backend);
      yield { id, status: "passed", message: "" };
    } catch (error) {
      if (error instanceof NotApplicable) yield { id, status: "skipped", message: error.message };
      else yield { id, status: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  }
}
