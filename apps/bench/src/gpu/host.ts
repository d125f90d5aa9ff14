import { type Backend, createBatch, createProgram, type Program } from "@centella/core";
import { named } from "@centella/quant/checks";
import { shapes } from "../model/shapes.ts";
import type { Row, Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import { uniform } from "../stats/random.ts";
import { softmaxes } from "../suites/programRows.ts";
import type { Scale } from "./kernel.ts";
import { tinyShape } from "./models.ts";
import { rawRelu } from "./rawWebgpu.ts";
import { furtherVariants, type PlannedModel, type VariantPart } from "./variants.ts";

/** Sizes of work: calls of a chain that do not fuse, elements of vectors, rows of square matrices. */
const sizes: Readonly<Record<Scale, { readonly calls: number; readonly elements: number; readonly side: number }>> = {
  full: { calls: 1000, elements: 2 ** 20, side: 1000 },
  tiny: { calls: 20, elements: 2 ** 15, side: 16 },
};

/** The model whose further variants are planned. */
const planned: Readonly<Record<Scale, PlannedModel>> = {
  full: { name: "llama-3.1-8b", shape: named(shapes, "llama-3.1-8b"), contextLength: 8192, sequences: 16, type: "Q4_K_M" },
  // Software GPUs take seconds for the kernels of each type and number of rows.
  tiny: { name: "tiny", shape: tinyShape, contextLength: 8, sequences: 2, type: "F16" },
};

/** Ops of the chain that is computed at once, and with a wait after each. */
const chainOps = 10;

/** What a call does, and its result where that is checked. */
interface HostCall {
  readonly run: () => Promise<ArrayLike<number>>;
  /** One element of the result, and what it has to be. */
  readonly check?: { readonly at: number; readonly value: number };
  readonly dispose?: () => void;
}

/** What a user waits for: calls with their transfers, from JavaScript's memory and back. */
export function hostRows(backend: Backend, scale: Scale): readonly Row[] {
  const { calls, elements, side } = sizes[scale];
  const megabytes = `${(4 * elements) / 2 ** 20} MiB`;
  const x = uniform(1, elements);
  const z = uniform(2, elements);
  return [
    row(backend, `a recorded op on replay, one of ${calls}`, { metric: "µs/op", work: { ops: calls } }, () => replayed(backend, calls)),
    row(backend, "relu of 16 elements and its readback", { metric: "µs", peers: backend.name === "webgpu" ? [rawRelu] : [] }, () =>
      smallest(backend),
    ),
    row(backend, `readback of ${megabytes} into a used array`, { metric: "ms" }, () => readback(backend, x)),
    row(backend, `two uploads of ${megabytes}, add, readback into a used array`, { metric: "ms" }, () => added(backend, x, z)),
    row(backend, `matmul ${side}² from host to host`, { metric: "ms" }, () => product(backend, side)),
    row(backend, `${chainOps} ops on ${elements} elements as a batch`, { metric: "ms" }, () => chain(backend, x, chainOps)),
    row(backend, `${chainOps} ops on ${elements} elements, awaited one by one`, { metric: "ms" }, () => chain(backend, x, 1)),
    variantRow(backend, planned[scale], "plan of a further variant in JavaScript", "javascript"),
    variantRow(backend, planned[scale], "a further variant until its first run is queued", "first run"),
  ];
}

/** Each call makes a variant. */
function variantRow(backend: Backend, tested: PlannedModel, id: string, part: VariantPart): Row {
  return {
    ...plainRow(`${id}, ${tested.name} ${tested.type}`, "ms"),
    isCold: true,
    contestants: [ours(backend, () => furtherVariants(backend, tested, part))],
    verify: () => undefined,
  };
}

function plainRow(id: string, metric: Row["metric"]): Pick<Row, "id" | "metric" | "bound" | "work" | "data" | "isLarge"> {
  return { id, metric, bound: "none", work: {}, data: "-", isLarge: false };
}

function ours({ name }: Backend, prepare: () => Promise<Subject>): Row["contestants"][number] {
  return { name, side: "ours", threads: undefined, prepare };
}

function row(
  backend: Backend,
  id: string,
  { metric, work = {}, peers = [] }: Pick<Row, "metric"> & Partial<Pick<Row, "work">> & { readonly peers?: Row["contestants"] },
  prepare: () => Promise<HostCall>,
): Row {
  let check: HostCall["check"];
  const prepared = async (): Promise<Subject> => {
    const call = await prepare();
    check = call.check;
    return { sample: timed(call.run), result: call.run, dispose: () => call.dispose?.() };
  };
  return {
    ...plainRow(id, metric),
    work,
    contestants: [ours(backend, prepared), ...peers],
    verify(result) {
      if (check === undefined) return undefined;
      const got = result[check.at] ?? Number.NaN;
      const isRight = Math.abs(got - check.value) <= 1e-3 * Math.max(1, Math.abs(check.value));
      return isRight ? undefined : `expected ${check.value} at ${check.at}, got ${got}`;
    },
  };
}

async function replayed(backend: Backend, calls: number): Promise<HostCall> {
  const plan = await backend.compile(softmaxes(calls));
  const inputs = { x: Float32Array.of(1) };
  const run = async (): Promise<ArrayLike<number>> => {
    using y = named(plan.run(inputs), "y");
    return await y.data();
  };
  return { run, check: { at: 0, value: 1 }, dispose: () => plan.dispose() };
}

async function smallest(backend: Backend): Promise<HostCall> {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [16])));
  const plan = await backend.compile(program);
  const inputs = { x: new Float32Array(16).fill(3) };
  const run = async (): Promise<ArrayLike<number>> => {
    using y = named(plan.run(inputs), "y");
    return await y.data();
  };
  return { run, check: { at: 15, value: 3 }, dispose: () => plan.dispose() };
}

async function readback(backend: Backend, x: Float32Array): Promise<HostCall> {
  const tensor = backend.upload({ dtype: "f32", shape: [x.length] }, x);
  const target = new Float32Array(x.length);
  const run = async (): Promise<ArrayLike<number>> => {
    await tensor.readInto(target);
    return target;
  };
  return { run, check: lastOf(x, (value) => value), dispose: () => tensor.dispose() };
}

async function added(backend: Backend, x: Float32Array, z: Float32Array): Promise<HostCall> {
  const program = createProgram();
  program.output("y", program.add(program.input("x", "f32", [x.length]), program.input("z", "f32", [z.length])));
  return intoUsedArray(
    backend,
    program,
    { x, z },
    x.length,
    lastOf(x, (value) => value + z.at(-1)!),
  );
}

async function product(backend: Backend, side: number): Promise<HostCall> {
  const program = createProgram();
  const [x, z] = [uniform(3, side * side), uniform(4, side * side)];
  program.output("y", program.matmul(program.input("x", "f32", [side, side]), program.input("z", "f32", [side, side])));
  let value = 0;
  for (let k = 0; k < side; k++) value += x[k]! * z[k * side]!;
  return intoUsedArray(backend, program, { x, z }, side * side, { at: 0, value });
}

async function intoUsedArray(
  backend: Backend,
  program: Program,
  inputs: Readonly<Record<string, Float32Array>>,
  elements: number,
  check: NonNullable<HostCall["check"]>,
): Promise<HostCall> {
  const plan = await backend.compile(program);
  const target = new Float32Array(elements);
  const run = async (): Promise<ArrayLike<number>> => {
    using y = named(plan.run(inputs), "y");
    await y.readInto(target);
    return target;
  };
  return { run, check, dispose: () => plan.dispose() };
}

/** `add` and `relu` by turns: `opsPerBatch` at a time, with the results on the host in between. */
async function chain(backend: Backend, x: Float32Array, opsPerBatch: number): Promise<HostCall> {
  const one = Float32Array.of(1);
  const run = async (): Promise<ArrayLike<number>> => {
    let data: Float32Array = x;
    for (let done = 0; done < chainOps; done += opsPerBatch) {
      using batch = createBatch(backend);
      let value = batch.upload(data);
      for (let op = done; op < done + opsPerBatch; op++) value = op % 2 === 0 ? batch.add(value, batch.upload(one)) : batch.relu(value);
      await batch.execute();
      data = (await batch.read(value)) as Float32Array;
    }
    return data;
  };
  // Numbers from -1 to 1 stay above 0 after the first addition.
  return { run, check: lastOf(x, (value) => value + chainOps / 2) };
}

function lastOf(x: Float32Array, resultOf: (last: number) => number): NonNullable<HostCall["check"]> {
  return { at: x.length - 1, value: resultOf(x.at(-1)!) };
}
