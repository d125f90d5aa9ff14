import { type Backend, UnsupportedError } from "@centella/core";
import { afterAll, describe, test } from "vitest";
import { conformanceTests } from "./conformance.ts";
import { type ConformanceTest, NotApplicable } from "./conformanceTest.ts";
import { disposeWhileBusy } from "./programs/disposal.ts";

export interface DescribeBackendOptions {
  /** Known failures by test id, with the reason or an issue. An entry whose test passes or does not exist is a failure. */
  readonly known?: Readonly<Record<string, string>>;
  /** Tests to define, to spread a slow backend's over several files. Default: {@link conformanceTests}. */
  readonly tests?: readonly ConformanceTest[];
  /** Selects tests by id, such as those of {@link conformanceSample} for a backend that takes minutes. Default: all. */
  readonly filter?: (id: string) => boolean;
  /** Environment with `REQUIRE_BACKENDS`, a comma-separated list of backends whose absence is a failure. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Defines the suite that every backend runs: each op's cases against its scalar reference and numpy's goldens, then whole programs.
 * ```ts
 * describeBackend("wasm", () => wasm().open());
 * ```
 */
export function describeBackend(name: string, open: () => Promise<Backend>, options: DescribeBackendOptions = {}): void {
  const { known = {}, tests = conformanceTests(), filter = () => true, environment = processEnvironment() } = options;
  const isRequired = environment.REQUIRE_BACKENDS?.split(",").includes(name) ?? false;
  describe(`backend ${name}`, async () => {
    const backend = await openOrReason(open);
    if (typeof backend === "string") {
      const body = (): void => {
        throw new Error(`${name} is required by REQUIRE_BACKENDS, but it is not available: ${backend}`);
      };
      if (isRequired) test(`${name} is available`, body);
      else test.skip(`${name} is not available: ${backend}`, () => undefined);
      return;
    }
    afterAll(() => backend.dispose());
    const stale = new Set(Object.keys(known));
    for (const { id, unsupported, run } of tests) {
      stale.delete(id);
      const reason = unsupported(backend);
      if (reason !== undefined) test.skip(`${id} (unsupported: ${reason})`, () => undefined);
      else if (!filter(id)) test.skip(`${id} (not in the sample)`, () => undefined);
      else if (known[id] !== undefined) test.fails(`${id} (known: ${known[id]})`, () => run(backend));
      else {
        test(id, async ({ skip }) => {
          try {
            await run(backend);
          } catch (error) {
            if (!(error instanceof NotApplicable)) throw error;
            skip(error.message);
          }
        });
      }
    }
    test("program: dispose() in the middle of work", async () => disposeWhileBusy(await open()));
    for (const id of stale) {
      test(`known failure ${id}`, () => {
        throw new Error(`${name}: no test is named "${id}"; remove it from known`);
      });
    }
  });
}

async function openOrReason(open: () => Promise<Backend>): Promise<Backend | string> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof UnsupportedError) return error.reason;
    throw error;
  }
}

function processEnvironment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}
