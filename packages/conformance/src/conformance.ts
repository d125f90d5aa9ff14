import type { Backend } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { cases } from "./cases/index.ts";
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
  /** Selects tests by id. Default: all. */
  readonly filter?: (id: string) => boolean;
}

/** Every test that a backend must pass: the cases of all ops, then whole programs. */
export function conformanceTests(): readonly ConformanceTest[] {
  return [...opTests(), ...programTests];
}

/**
 * Ids of a sample, for backends that take minutes and for a second engine when another one has run everything.
 * - `"small"` (default): the first golden and the first further case of each op with each block type, and all whole programs, with two of
 *   each kind of random programs.
 * - `"large"`: these, and a sixth of the others.
 */
export function conformanceSample(size: "small" | "large" = "small"): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const isAmong = (most: number, key: string): boolean => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= most;
  };
  const ofOps = Object.entries(cases).flatMap(([op, { cases: list }]) =>
    list
      .filter(({ name, inputs, optional = {} }) => {
        const blocks = [...inputs, ...Object.values(optional)].flatMap((tensor) =>
          tensor && isQuantized(tensor.dtype) ? [tensor.dtype] : [],
        );
        return isAmong(1, `${op} ${name.startsWith("golden: ")} ${blocks}`);
      })
      .map(({ name }) => `${op}: ${name}`),
  );
  const ofPrograms = programTests.map(({ id }) => id).filter((id) => !id.includes(", seed ") || isAmong(2, id.replace(/\d+$/, "")));
  return new Set([...ofOps, ...ofPrograms, ...(size === "large" ? sixthOfEachForm() : [])]);
}

/** Ids of every sixth test. Tests whose ids differ in a seed or in the weight's type alone are counted apart. */
function sixthOfEachForm(): readonly string[] {
  const forms = new Map<string, string[]>();
  for (const { id } of conformanceTests()) {
    const form = id.replace(/\w+ (weight, |experts of )|, seed \d+$/, "");
    forms.set(form, [...(forms.get(form) ?? []), id]);
  }
  // Forms begin with different members, so that together they have all types.
  return [...forms.values()].flatMap((ids, form) => ids.filter((_, i) => (i + form) % 6 === 0));
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
