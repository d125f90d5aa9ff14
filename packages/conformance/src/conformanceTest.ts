import { type Backend, type Plan, UnsupportedError } from "@centella/core";
import type { CompileOptions, ProgramGraph } from "@centella/core/backend";

/** One test that a backend must pass; it throws on failure. */
export interface ConformanceTest {
  readonly id: string;
  /** The reason why the backend cannot run the test, or undefined. */
  unsupported(backend: Backend): string | undefined;
  /** @throws {NotApplicable} if the backend refuses while compiling */
  run(backend: Backend): Promise<void>;
}

/** Thrown by a test when the backend does not support an op that the test needs. */
export class NotApplicable extends Error {
  override name = "NotApplicable";
}

/** Compiles; an op without a kernel makes the test inapplicable. */
export async function compileOrSkip(backend: Backend, program: ProgramGraph, options?: CompileOptions): Promise<Plan> {
  try {
    return await backend.compile(program, options);
  } catch (error) {
    if (error instanceof UnsupportedError) throw new NotApplicable(error.message);
    throw error;
  }
}

/** A test of whole programs. Missing support is detected when it compiles. */
export function programTest(name: string, run: (backend: Backend) => Promise<void>): ConformanceTest {
  return { id: `program: ${name}`, unsupported: () => undefined, run: (backend) => withoutLeaks(backend, () => run(backend)) };
}

/** Runs a test and checks that the backend then holds no more tensors and persistents than before. @throws {Error} */
export async function withoutLeaks(backend: Backend, run: () => Promise<void>): Promise<void> {
  const before = backend.memory();
  await run();
  await backend.idle();
  const after = backend.memory();
  for (const purpose of ["tensors", "persistents"] as const) {
    if (after[purpose] !== before[purpose])
      throw new Error(
        `${backend.name}: expected ${before[purpose]} bytes of ${purpose} after the test, got ${after[purpose]}; something was not freed`,
      );
  }
}
