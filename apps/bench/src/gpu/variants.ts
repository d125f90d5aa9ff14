import { performance } from "node:perf_hooks";
import { type Backend, createProgram, createRuntime, type DimValues, type Plan, type TypedArray } from "@centella/core";
import { entryOf, resolveSpec, typedArrayOf } from "@centella/core/backend";
import { loadModel } from "@centella/llm";
import { elementAt } from "@centella/quant/checks";
import { emptyModel } from "../model/emptyModel.ts";
import type { ModelShape } from "../model/shapes.ts";
import type { FileType } from "../model/tensors.ts";
import { Skip, type Subject } from "../runner/subject.ts";

/** A model whose plans are made. */
export interface PlannedModel {
  readonly name: string;
  readonly shape: ModelShape;
  readonly contextLength: number;
  /** Texts at once. */
  readonly sequences: number;
  readonly type: FileType;
}

/**
 * What is timed of a variant. "javascript": how long the plan keeps the caller's thread busy, with the texts of kernels that are not known. "first run":
 * from the call until a run of these sizes is queued on the device, with kernels that the driver compiles and the graph.
 */
export type VariantPart = "javascript" | "first run";

/** A model's plan, and how to make it once more without its variants. */
interface WatchedPlan {
  readonly plan: Plan;
  /** Extents that the model asked the plan to prepare. It has prepared none. */
  readonly asked: readonly DimValues[];
  again(): Promise<Plan>;
}

/** A loaded model, whose plan has no variants yet. */
export interface LoadedModel extends WatchedPlan {
  isPrepared(size: DimValues): boolean;
  dispose(): Promise<void>;
}

/** Loads a model whose weights are all the same, without its variants. */
export async function plannedModel(backend: Backend, { name, shape, contextLength, sequences, type }: PlannedModel): Promise<LoadedModel> {
  const watched = watchCompile(backend);
  // The backend is the caller's, and a runtime would dispose of it.
  const factory = { name: backend.name, open: async () => backend };
  const runtime = await createRuntime({ backends: [factory], policy: { force: backend.name, allowSoftware: true } });
  const model = await loadModel(emptyModel(name, shape, type), { runtime, contextLength, sequences }).finally(() => watched.stop());
  const largest = watched.largest();
  const prepared = new Set(largest.asked.map(keyOf));
  return { ...largest, isPrepared: (size) => prepared.has(keyOf(size)), dispose: () => model.dispose() };
}

/**
 * The time of a further variant of a model's plan, which has the variants that models prepare while weights load. The sizes of its runs are those of
 * some texts with more tokens than texts, of which some want a token.
 * @throws {Skip} on backends whose plans have no variants
 */
export async function furtherVariants(backend: Backend, tested: PlannedModel, part: VariantPart): Promise<Subject> {
  if (!(await hasVariants(backend))) throw new Skip("plans have no variants");
  const model = await plannedModel(backend, tested);
  const { plan: first, asked, again } = model;
  const sizes = runSizes(first, tested.sequences).filter((size) => !model.isPrepared(size));
  let [current, at] = [first, 0];
  await first.prepare?.(asked);
  const next = async (): Promise<DimValues> => {
    if (at < sizes.length) return elementAt(sizes, at++);
    // All sizes have had variants: the same plan as after loading.
    const old = current;
    current = await again();
    if (old !== first) old.dispose();
    await current.prepare?.(asked);
    at = 1;
    return elementAt(sizes, 0);
  };
  return {
    async sample(calls) {
      let milliseconds = 0;
      for (let call = 0; call < calls; call++) {
        const size = await next();
        milliseconds += part === "javascript" ? await busyTime(() => prepare(current, size)) : await timeToFirstRun(current, size);
      }
      return milliseconds / 1e3;
    },
    result: async () => undefined,
    async dispose() {
      if (current !== first) current.dispose();
      await model.dispose();
    },
  };
}

export async function prepare(plan: Plan, size: DimValues): Promise<void> {
  await plan.prepare?.([size]);
}

/** Milliseconds of the caller's thread, without those in which it waits. */
async function busyTime(work: () => Promise<void>): Promise<number> {
  const before = performance.eventLoopUtilization();
  await work();
  return performance.eventLoopUtilization(before).active;
}

async function timeToFirstRun(plan: Plan, size: DimValues): Promise<number> {
  const inputs = zeros(plan, size);
  const start = performance.now();
  await prepare(plan, size);
  const outputs = Object.values(plan.run(inputs, { dims: size }));
  const milliseconds = performance.now() - start;
  for (const output of outputs) {
    await output.ready();
    output.dispose();
  }
  return milliseconds;
}

/** Inputs of a run that sees nothing. */
export function zeros({ program }: Plan, size: DimValues): Record<string, TypedArray> {
  const { inputs, values } = program;
  return Object.fromEntries(
    [...inputs].map(([name, id]) => {
      const { dtype, shape } = resolveSpec(elementAt(values, id).spec, size);
      return [name, new (typedArrayOf(dtype))(shape.reduce((a, b) => a * b, 1))];
    }),
  );
}

async function hasVariants(backend: Backend): Promise<boolean> {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [program.dim("n", 4)])));
  const plan = await backend.compile(program);
  plan.dispose();
  return plan.prepare !== undefined;
}

/** Sizes of a plan's runs by powers of two: those of several texts with more tokens than texts, with the logits of some of the texts. */
export function runSizes({ program }: Plan, sequences: number): readonly DimValues[] {
  const { max: mostTokens } = entryOf(program.dims, "T");
  const sizes: DimValues[] = [];
  for (let texts = 2; texts <= sequences; texts *= 2)
    for (let tokens = 2 * texts; tokens <= mostTokens; tokens *= 2)
      for (let read = 1; read <= texts; read *= 2) sizes.push({ T: tokens, nSeq: texts, nOut: read, nRead: 0, nMask: 0 });
  return sizes;
}

function keyOf({ T, nSeq, nOut, nRead, nMask }: DimValues): string {
  return [T, nSeq, nOut, nRead, nMask].join();
}

/** Keeps the plans that a backend compiles, which prepare nothing until the watch is stopped. */
function watchCompile(backend: Backend): { stop(): void; largest(): WatchedPlan } {
  const compile = backend.compile.bind(backend);
  const found: (WatchedPlan & { readonly persistents: number })[] = [];
  backend.compile = async (program, options) => {
    const plan = await compile(program, options);
    const asked: DimValues[] = [];
    plan.prepare = async (extents) => void asked.push(...extents);
    const again = (): Promise<Plan> => compile(program, { shareWith: plan, background: true });
    found.push({ plan, asked, persistents: program.persistents.size, again });
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
