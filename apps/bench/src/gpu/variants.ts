import { type Backend, createProgram, createRuntime, type DimValues, type Plan } from "@centella/core";
import { loadModel } from "@centella/llm";
import { elementAt } from "@centella/quant/checks";
import { emptyModel } from "../model/emptyModel.ts";
import type { ModelShape } from "../model/shapes.ts";
import { Skip, type Subject } from "../runner/subject.ts";

/** A model whose plans are made. */
export interface PlannedModel {
  readonly name: string;
  readonly shape: ModelShape;
  readonly contextLength: number;
  /** Texts at once. */
  readonly sequences: number;
}

/** The model's plan, and how to make it once more without its variants. */
interface WatchedPlan {
  readonly plan: Plan;
  again(): Promise<Plan>;
}

/**
 * The time until a plan of a model has a further variant, for runs of other sizes than before: its launches are placed, and kernels that are not
 * loaded are loaded.
 * @throws {Skip} on backends whose plans have no variants
 */
export async function furtherVariants(backend: Backend, tested: PlannedModel): Promise<Subject> {
  if (!(await hasVariants(backend))) throw new Skip("plans have no variants");
  const { name, shape, contextLength, sequences } = tested;
  const sizes = runSizes(contextLength, sequences);
  const watched = watchCompile(backend);
  // The backend is the caller's, and a runtime would dispose of it.
  const factory = { name: backend.name, open: async () => backend };
  const runtime = await createRuntime({ backends: [factory], policy: { force: backend.name, allowSoftware: true } });
  const model = await loadModel(emptyModel(name, shape, "Q4_K_M"), { runtime, contextLength, sequences }).finally(() => watched.stop());
  const { plan: first, again } = watched.largest();
  let [current, at] = [first, sizes.length];
  const nextSize = async (): Promise<DimValues> => {
    if (++at < sizes.length) return elementAt(sizes, at);
    // All sizes have variants: the same plan without them, and with one.
    const old = current;
    current = await again();
    if (old !== first) old.dispose();
    await prepare(current, elementAt(sizes, 0));
    at = 1;
    return elementAt(sizes, 1);
  };
  return {
    async sample(calls) {
      let seconds = 0;
      for (let call = 0; call < calls; call++) {
        const size = await nextSize();
        const start = performance.now();
        await prepare(current, size);
        seconds += (performance.now() - start) / 1e3;
      }
      return seconds;
    },
    result: async () => undefined,
    async dispose() {
      if (current !== first) current.dispose();
      await model.dispose();
    },
  };
}

async function prepare(plan: Plan, size: DimValues): Promise<void> {
  await plan.prepare?.([size]);
}

async function hasVariants(backend: Backend): Promise<boolean> {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [program.dim("n", 4)])));
  const plan = await backend.compile(program);
  plan.dispose();
  return plan.prepare !== undefined;
}

/** Sizes of runs: those of several texts with some tokens each, by powers of two. */
function runSizes(contextLength: number, sequences: number): readonly DimValues[] {
  const sizes: DimValues[] = [];
  for (let texts = 1; texts <= sequences; texts *= 2)
    for (let tokens = texts; tokens <= Math.min(contextLength, 4096); tokens *= 2)
      sizes.push({ T: tokens, nSeq: texts, nOut: texts, nRead: 0, nMask: 0 });
  return sizes;
}

/** Keeps the plans that a backend compiles, which prepare nothing until the watch is stopped. */
function watchCompile(backend: Backend): { stop(): void; largest(): WatchedPlan } {
  const compile = backend.compile.bind(backend);
  const found: (WatchedPlan & { readonly persistents: number })[] = [];
  backend.compile = async (program, options) => {
    const plan = await compile(program, options);
    plan.prepare = async () => undefined;
    found.push({ plan, persistents: program.persistents.size, again: () => compile(program, { shareWith: plan }) });
    return plan;
  };
  return {
    stop() {
      backend.compile = compile;
      for (const { plan } of found) delete plan.prepare;
    },
    largest: () => found.reduce((a, b) => (b.persistents > a.persistents ? b : a)),
  };
}
