import { type Backend, createProgram, DisposedError, type Program, type TensorSource } from "@centella/core";
import { named } from "@centella/quant/checks";
import { expectRejection } from "../compare.ts";
import { compileOrSkip } from "../conformanceTest.ts";
import { sourceOf } from "../sources.ts";

function sum(): Program {
  const program = createProgram();
  program.output("y", program.add(program.input("x", "f32", [4]), program.persistent("w", { dtype: "f32", shape: [4] })));
  return program;
}

const w = Float32Array.of(10, 20, 30, 40);
const x = Float32Array.of(1, 2, 3, 4);

/** `dispose()` during work: running calls complete or throw a `DisposedError`, and later calls always throw one. Needs its own backend. */
export async function disposeWhileBusy(backend: Backend): Promise<void> {
  const plan = await compileOrSkip(backend, sum());
  await plan.load("w", sourceOf(w));
  const output = named(plan.run({ x }), "y");
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { size, read } = sourceOf(w);
  const slow: TensorSource = {
    size,
    async read(offset, length) {
      await asked;
      return read(offset, length);
    },
  };
  const work = Promise.allSettled([
    output.data(),
    plan.load("w", slow),
    backend.compile(sum()),
    backend.compile(sum(), { shareWith: plan }),
  ]);
  const disposal = backend.dispose();
  answer();
  await disposal;
  for (const result of await work) {
    if (result.status === "rejected" && !(result.reason instanceof DisposedError))
      throw new Error(`${backend.name}: expected work that dispose() ends to reject with a DisposedError, got ${String(result.reason)}`);
  }
  await expectRejection("compile after dispose()", () => backend.compile(sum()), DisposedError);
  await expectRejection("upload after dispose()", () => backend.upload({ dtype: "f32", shape: [4] }, x), DisposedError);
  await expectRejection("run after dispose()", () => named(plan.run({ x }), "y").data(), DisposedError);
  await expectRejection("load after dispose()", () => plan.load("w", sourceOf(w)), DisposedError);
  await expectRejection("save after dispose()", () => plan.save("w"), DisposedError);
  plan.dispose();
  output.dispose();
  await backend.dispose();
}
