import { type Backend, createProgram, type Plan, type Program, reference, type TypedArray } from "@centella/core";
import { decode, type FusionLimits } from "@centella/core/backend";
import { sourceOf } from "../tasks/ours.ts";
import { bytesOf, type GpuKernel, type Operand } from "./kernel.ts";
import { relativeError } from "./relativeError.ts";

/** Bytes that the calls of one run move together, so that none finds its data in a cache. */
const rotatedBytes = { gpu: 2 ** 28, software: 2 ** 12 };
/** Device memory that the copies of the operands may take. */
const maxOperandBytes = 2 ** 31;
const maxCalls = 64;
/** Time of a run at the floor, so that reading the timers does not count. */
const runSeconds = 4e-4;
/** Work of a GPU before its samples. One that paused runs at a fraction of its clocks. */
const warmUpSeconds = 0.3;

/** Products of one tensor would be one launch, in which they hide each other's start and end. */
const apart: FusionLimits = { maxCalls: 1 };

type Inputs = Readonly<Record<string, TypedArray>>;

/** A kernel whose result was checked, ready to be timed. */
export interface PreparedKernel {
  /** Number of calls in a run, each on operands of its own. */
  readonly calls: number;
  /** Runs until the device has the clocks of work that lasts, then `samples` times: seconds of one call on the device. */
  times(samples: number): Promise<readonly number[]>;
  dispose(): void;
}

/**
 * Compiles a program of several calls of a kernel, each a launch of its own on copies of the operands that are not shared, and compares the
 * first result with the reference.
 * @throws {WrongResult}
 */
export async function prepareKernel(backend: Backend, kernel: GpuKernel, floorSeconds: number): Promise<PreparedKernel> {
  const operands = kernel.operands();
  const calls = callsOf(backend, kernel, operands, floorSeconds);
  const plan = await compileApart(backend, record(kernel, operands, calls));
  const inputs = Object.fromEntries(operands.flatMap((operand, i) => (isIndex(operand) ? [[inputName(i), operand.data]] : [])));
  try {
    for (let call = 0; call < calls; call++)
      for (const [i, operand] of operands.entries())
        if (!isIndex(operand) && !(operand.isShared && call > 0)) await plan.load(nameOf(call, i), sourceOf(bytesOf(operand.data)));
    await checkResult(kernel, operands, await firstResult(plan, inputs));
    const time = async (): Promise<number> => (await plan.profile(inputs, { perStep: false })).total / 1e6 / calls;
    return {
      calls,
      async times(samples) {
        await warmUp(time, backend.device.kind === "gpu" ? warmUpSeconds : 0);
        const seconds: number[] = [];
        for (let i = 0; i < samples; i++) seconds.push(await time());
        return seconds;
      },
      dispose: () => plan.dispose(),
    };
  } catch (error) {
    plan.dispose();
    throw error;
  }
}

/** A kernel computed something else than the reference. */
export class WrongResult extends Error {
  override name = "WrongResult";
}

/** Runs at least once. */
/** Repeats a run for some seconds, at least once. */
export async function warmUp(run: () => Promise<unknown>, seconds: number): Promise<void> {
  const end = performance.now() + 1e3 * seconds;
  do await run();
  while (performance.now() < end);
}

function callsOf({ device }: Backend, { bytes }: GpuKernel, operands: readonly Operand[], floorSeconds: number): number {
  const operandBytes = operands.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (device.kind !== "gpu") return Math.max(2, Math.min(4, Math.ceil(rotatedBytes.software / bytes)));
  const wanted = Math.max(2, rotatedBytes.gpu / bytes, runSeconds / floorSeconds);
  return Math.max(2, Math.min(maxCalls, Math.ceil(wanted), Math.floor(maxOperandBytes / operandBytes)));
}

function nameOf(call: number, operand: number): string {
  return `call${call}.operand${operand}`;
}

/** Whether an operand says where others are, as positions do: in models, a run has one of each for all layers. */
function isIndex({ spec: { dtype } }: Operand): boolean {
  return dtype === "i32";
}

function inputName(operand: number): string {
  return `operand${operand}`;
}

function record(kernel: GpuKernel, operands: readonly Operand[], calls: number): Program {
  const program = createProgram();
  const shared = operands.map((operand, i) => {
    if (isIndex(operand)) return program.input(inputName(i), operand.spec.dtype, operand.spec.shape);
    return operand.isShared && program.persistent(nameOf(0, i), operand.spec);
  });
  for (let call = 0; call < calls; call++) {
    const values = operands.map(({ spec }, i) => shared[i] || program.persistent(nameOf(call, i), spec));
    program.output(`y${call}`, kernel.call(program, values), { to: "device" });
  }
  return program;
}

/** Compiles a program without groups of calls. */
async function compileApart(backend: Backend, program: Program): Promise<Plan> {
  const { fusion } = backend;
  Object.assign(backend, { fusion: apart });
  try {
    return await backend.compile(program);
  } finally {
    Object.assign(backend, { fusion });
  }
}

async function firstResult(plan: Plan, inputs: Inputs): Promise<TypedArray> {
  const { y0, ...others } = plan.run(inputs);
  for (const tensor of Object.values(others)) tensor.dispose();
  try {
    return decode(y0!.spec, await y0!.data());
  } finally {
    y0!.dispose();
  }
}

/** @throws {WrongResult} */
async function checkResult(kernel: GpuKernel, operands: readonly Operand[], got: TypedArray): Promise<void> {
  const { operands: taken, at } = kernel.sample(operands);
  const want = await referenceResult(kernel, taken);
  const error = relativeError(
    Float64Array.from(want, (_, i) => got[at(i)]!),
    want,
  );
  // NaN is wrong too.
  if (!(error <= kernel.limit)) throw new WrongResult(`relative error ${error.toPrecision(2)}, at most ${kernel.limit} is right`);
}

async function referenceResult(kernel: GpuKernel, operands: readonly Operand[]): Promise<TypedArray> {
  const backend = await reference().open();
  const program = createProgram();
  const inputs = operands.map(({ spec }, i) => program.input(`operand${i}`, spec.dtype, spec.shape));
  program.output("y", kernel.call(program, inputs));
  const plan = await backend.compile(program);
  try {
    const { y } = plan.run(Object.fromEntries(operands.map(({ data }, i) => [`operand${i}`, data])));
    return decode(y!.spec, await y!.data());
  } finally {
    plan.dispose();
    await backend.dispose();
  }
}
