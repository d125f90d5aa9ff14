import { createProgram, createRuntime, type Program, type Runtime, type Value } from "@centella/core";
import { type GgufInput, readGguf } from "@centella/gguf";
import { loadModel } from "@centella/llm";
import { benchModel } from "@centella/llm/bench";
import { expose } from "comlink";
import { backendsNamed } from "./backends.ts";

/** A measured figure. */
export interface BenchResult {
  readonly backend: string;
  readonly device: string;
  readonly test: string;
  /** In the unit, such as "41.7 ± 0.3 tokens/s". */
  readonly result: string;
}

/** How a model is measured. */
export interface ModelBench {
  readonly input: GgufInput;
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly repetitions: number;
}

type Report = (result: BenchResult) => void;

/** Measures one backend, in a thread of its own. */
class Bench {
  readonly #backend: string;

  constructor(backend: string) {
    this.#backend = backend;
  }

  /** Measures a model as llama-bench does. */
  async model({ input, promptTokens, generatedTokens, repetitions }: ModelBench, report: Report): Promise<void> {
    const file = await readGguf(input, { cache: false });
    await file.close();
    const contextLength = promptTokens + generatedTokens + 64;
    const tests = { promptTokens: [promptTokens], generatedTokens: [generatedTokens], repetitions };
    await this.#withRuntime(async (runtime) => {
      const model = await loadModel(input, { runtime, contextLength, cache: false });
      const { backend, device } = model.info;
      for await (const { test, tokensPerSecond } of benchModel(model, tests)) {
        const { mean, deviation } = spreadOf(tokensPerSecond);
        report({ backend, device, test, result: `${mean.toFixed(1)} ± ${deviation.toFixed(1)} tokens/s` });
      }
      await model.dispose();
    });
  }

  /** Measures single kernels. */
  async kernels(report: Report): Promise<void> {
    await this.#withRuntime(async (runtime) => {
      const { name: backend = this.#backend, device = "" } =
        runtime.report().backends.find(({ name, isOpen }) => isOpen && name === this.#backend) ?? {};
      for (const kernel of kernels) {
        const seconds = await timeOf(runtime, kernel);
        report({ backend, device, test: kernel.name, result: `${(kernel.work / seconds / 1e9).toFixed(1)} ${kernel.unit}` });
      }
    });
  }

  /** Disposes the runtime and its models by hand: `using` declarations fail in Safari, which has no `Symbol.dispose`. */
  async #withRuntime(work: (runtime: Runtime) => Promise<void>): Promise<void> {
    const runtime = await createRuntime({ backends: await backendsNamed(this.#backend), policy: { force: this.#backend } });
    try {
      await work(runtime);
    } finally {
      await runtime.dispose();
    }
  }
}

/** A kernel to measure: one op on inputs of f32. */
interface Kernel {
  readonly name: string;
  readonly shapes: readonly (readonly number[])[];
  record(program: Program, inputs: readonly Value[]): Value;
  /** Operations or bytes of a run. */
  readonly work: number;
  readonly unit: "GFLOP/s" | "GB/s";
}

const kernels: readonly Kernel[] = [
  {
    name: "matmul f32 256 × 512 × 512",
    shapes: [
      [256, 512],
      [512, 512],
    ],
    record: (program, [a, b]) => program.matmul(a!, b!),
    work: 2 * 256 * 512 * 512,
    unit: "GFLOP/s",
  },
  {
    name: "softmax f32 512 × 2048",
    shapes: [[512, 2048]],
    record: (program, [x]) => program.softmax(x!),
    work: 2 * 4 * 512 * 2048,
    unit: "GB/s",
  },
  {
    name: "silu f32 2²⁰",
    shapes: [[1 << 20]],
    record: (program, [x]) => program.silu(x!),
    work: 2 * 4 * (1 << 20),
    unit: "GB/s",
  },
];

/** Runs that are queued at once, so that a GPU does not wait for the host. */
const runs = 10;

/** Median time of a run in seconds, its inputs on the device. */
async function timeOf(runtime: Runtime, { shapes, record }: Kernel): Promise<number> {
  const program = createProgram();
  const inputs = shapes.map((shape, index) => program.persistent(`x${index}`, { dtype: "f32", shape }));
  program.output("y", record(program, inputs));
  const plan = await runtime.compile(program);
  for (const [index, shape] of shapes.entries()) {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i % 7) / 7);
    const bytes = new Uint8Array(values.buffer);
    await plan.load(`x${index}`, { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) });
  }
  const rounds: number[] = [];
  for (let round = 0; round < 4; round++) {
    const start = performance.now();
    const outputs = Array.from({ length: runs }, () => plan.run({}).y!);
    await outputs.at(-1)!.data();
    rounds.push((performance.now() - start) / runs / 1000);
    for (const output of outputs) output.dispose();
  }
  plan.dispose();
  // The first round compiles.
  return rounds.slice(1).sort((a, b) => a - b)[1]!;
}

function spreadOf(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return { mean, deviation: Math.sqrt(variance) };
}

export type { Bench };

expose(new Bench(self.name));
