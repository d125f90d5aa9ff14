// Run in a process of its own, with the stand-in for libcuda.so.1 on the library path. Prints what it saw as JSON.
import { createProgram, createRuntime, reference } from "@centella/core";
import { cuda, readDevices } from "../../../src/index.ts";
import { openNativeDriver } from "../../../src/nativeDriver.ts";

const scenario = process.argv[2];

async function whole(): Promise<object> {
  const backend = await cuda({ kernelCache: false }).open();
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const w = program.persistent("w", { dtype: "f16", shape: [3] });
  const state = program.persistent("state", { dtype: "i32", shape: [2] }, { init: "zeros" });
  program.output("first", program.element(x, { index: 0 }));
  program.output("same", x);
  program.output("w", w);
  program.output("kept", program.element(x, { index: 1 }), { to: "device" });
  program.output("state", state);
  // Too much for kernels to store it to the host's memory: all results are copied.
  program.output("large", program.persistent("large", { dtype: "f32", shape: [1025] }, { init: "zeros" }));
  const plan = await backend.compile(program);
  const stored = new Uint8Array(new Uint16Array([1, 2, 3]).buffer);
  await plan.load("w", { size: 6, read: async (offset, length) => stored.slice(offset, offset + length) });
  const runs: unknown[] = [];
  const before = { ...backend.counters };
  const outputs = Array.from({ length: 5 }, (_, i) => plan.run({ x: Float32Array.of(i, 10, 20, 30) }));
  for (const output of outputs) {
    const values: Record<string, number[]> = {};
    for (const [name, tensor] of Object.entries(output)) values[name] = [...(await tensor.data())].slice(0, 4);
    runs.push(values);
  }
  const { uploads, submits, readbacks } = backend.counters;
  const tensor = backend.upload({ dtype: "f32", shape: [4] }, Float32Array.of(7, 8, 9, 10));
  const given = plan.run({ x: tensor });
  const fromDevice = [...(await given.same!.data())];
  tensor.dispose();
  for (const output of [...outputs, given]) for (const each of Object.values(output)) each.dispose();
  const saved = [...(await plan.save("w"))];
  plan.dispose();
  await backend.idle();
  const memory = backend.memory();
  await backend.dispose();
  return {
    device: backend.device,
    runs,
    counted: [uploads - before.uploads, submits - before.submits, readbacks - before.readbacks],
    fromDevice,
    saved,
    memory,
  };
}

/** The stand-in's kernels take a millisecond each, and nothing else takes any time. */
async function profile(): Promise<object> {
  const backend = await cuda({ kernelCache: false }).open();
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  program.output("first", program.element(x, { index: 0 }));
  program.output("kept", program.element(x, { index: 1 }), { to: "device" });
  const plan = await backend.compile(program);
  const result = await plan.profile({ x: Float32Array.of(1, 2, 3, 4) });
  plan.dispose();
  await backend.dispose();
  return result;
}

async function withinTheCall(): Promise<object> {
  const backend = await cuda({ kernelCache: false }).open();
  const program = createProgram();
  const x = program.input("x", "f32", [1]);
  program.output("first", program.element(x, { index: 0 }));
  program.output("same", x);
  program.output("kept", program.element(x, { index: 0 }), { to: "device" });
  const plan = backend.compileSync!(program);
  const run = (value: number): object => {
    const outputs = plan.runSync!({ x: Float32Array.of(value) });
    return Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, [...values]]));
  };
  const runs: object[] = [run(1), run(2)];
  const later = plan.run({ x: Float32Array.of(3) });
  let refused = "";
  try {
    run(4);
  } catch (error) {
    refused = textOf(error);
  }
  await later.kept!.ready();
  const peeked = [...later.kept!.dataSync()];
  runs.push(run(5));
  for (const tensor of Object.values(later)) tensor.dispose();
  plan.dispose();
  await backend.idle();
  const memory = backend.memory();
  await backend.dispose();
  return { runs, refused, peeked, memory };
}

async function driverErrors(): Promise<object> {
  const driver = await openNativeDriver(0);
  const seen: Record<string, unknown> = { device: driver.device };
  const attempt = async (name: string, work: () => unknown): Promise<void> => {
    try {
      await work();
      seen[name] = "no error";
    } catch (error) {
      seen[name] = textOf(error);
    }
  };
  await attempt("memory", () => driver.alloc(2 ** 40));
  await attempt("module", () => driver.loadModule("rejected", "kernel"));
  await attempt("entry", async () => driver.kernel(await driver.loadModule("fine", "kernel"), "", 0));
  await attempt("module within the call", () => driver.loadModuleSync("rejected", "kernel"));
  await attempt("kernel within the call", () => driver.kernel(driver.loadModuleSync("fine", "kernel"), "kernel", 0));
  await attempt("module of a wrong type", () => driver.loadModuleSync(JSON.parse("1"), "kernel"));
  await attempt("machine code", async () => driver.loadModule(await driver.compile("fine"), "kernel"));
  await attempt("text without machine code", () => driver.compile("rejected"));
  await attempt("machine code within the call", () => driver.loadModuleSync(driver.compileSync("fine"), "kernel"));
  await attempt("text without machine code, within the call", () => driver.compileSync("rejected"));
  const pinned = driver.allocPinned(16);
  const view = driver.viewPinned(pinned, 16);
  driver.writePinned(pinned, 4, Uint8Array.of(1, 2, 3));
  seen.view = [...view.subarray(3, 8)].slice(1, 4);
  driver.freePinned(pinned);
  seen.freedView = view.length;
  await attempt("polled for", () => driver.finished(driver.mark(), 10));
  const memory = [driver.alloc(4), driver.alloc(4)] as const;
  const kernel = driver.kernel(await driver.loadModule("fine", "kernel"), "kernel", 0);
  const launch = { grid: [1, 1, 1], block: [32, 1, 1], sharedBytes: 0, isDependent: true, args: memory, spans: [] } as const;
  driver.launch({ kernel, ...launch });
  await attempt("finished within the call", () => driver.finishedSync());
  await attempt("finished", () => driver.finished());
  await attempt("wrong type", () => driver.free(JSON.parse("1")));
  driver.close();
  await attempt("closed", () => driver.alloc(1));
  await attempt("waited for after close", () => driver.finishedSync());
  await attempt("closed twice", () => driver.close());
  return seen;
}

/** The errors of calls that consist of several calls of the driver, of which one after the other is refused. */
async function refusals(): Promise<object> {
  const driver = await openNativeDriver(0);
  const seen: Record<string, string[]> = {};
  const attempt = async (calls: readonly string[], works: readonly (() => unknown)[]): Promise<void> => {
    for (const call of calls) {
      process.env.FAKE_CUDA_REFUSE = `${call} 3`;
      const failures = works.map((work) =>
        Promise.resolve()
          .then(work)
          .then(() => "no error", textOf),
      );
      seen[call] = [...new Set([...(seen[call] ?? []), ...(await Promise.all(failures))])];
      delete process.env.FAKE_CUDA_REFUSE;
    }
  };
  const load = [() => driver.loadModule("fine", "kernel"), () => driver.loadModuleSync("fine", "kernel")];
  const compile = [() => driver.compile("fine"), () => driver.compileSync("fine")];
  await attempt(["cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction"], load);
  await attempt(["cuLinkCreate", "cuLinkAddData", "cuLinkComplete"], compile);
  const module = driver.loadModuleSync("fine", "kernel");
  await attempt(["cuLibraryGetKernel", "cuKernelGetFunction"], [() => driver.kernel(module, "kernel", 0)]);
  driver.close();
  for (const call of ["cuStreamDestroy", "cuDevicePrimaryCtxRelease", "cuCtxSetCurrent"]) {
    const other = await openNativeDriver(0);
    await attempt([call], [() => other.close()]);
  }
  return seen;
}

/** Copies between page-locked and other memory of many sizes, by one thread and by several. */
async function hostCopies(): Promise<object> {
  const driver = await openNativeDriver(0);
  const most = 3 * 2 ** 20;
  const pinned = driver.allocPinned(most + 7);
  const data = Uint8Array.from({ length: most }, (_, i) => (i * 31 + (i >> 9)) & 255);
  const wrong: number[] = [];
  let copies = 0;
  for (let size = 1; size <= most; size = Math.ceil(1.3 * size)) {
    const from = data.subarray(most - size);
    driver.writePinned(pinned, 7, from);
    const into = new Uint8Array(new SharedArrayBuffer(size + 2));
    driver.readPinned(pinned, 7, into.subarray(1, -1));
    copies += 2;
    if (into[0] !== 0 || into.at(-1) !== 0 || Buffer.compare(into.subarray(1, -1), from) !== 0) wrong.push(size);
  }
  driver.freePinned(pinned);
  driver.close();
  let closed = "no error";
  try {
    driver.readPinned(pinned, 0, data);
  } catch (error) {
    closed = textOf(error);
  }
  return { wrong, isMany: copies > 80, closed };
}

async function open(): Promise<object> {
  try {
    await cuda({ kernelCache: false }).open();
    return {};
  } catch (error) {
    return { error: textOf(error) };
  }
}

/** Loads a weight of 20 MB, which takes several chunks, through a source that writes into given memory. */
async function load(): Promise<object> {
  const backend = await cuda({ kernelCache: false }).open();
  const program = createProgram();
  const columns = 2 ** 20;
  const w = program.persistent("w", { dtype: "i32", shape: [5, columns] });
  program.output("w", w, { to: "device" });
  const stored = Int32Array.from({ length: 5 * columns }, (_, i) => i);
  const bytes = new Uint8Array(stored.buffer);
  let [reading, mostReading] = [0, 0];
  const progress: number[] = [];
  try {
    const plan = await backend.compile(program);
    const source = {
      size: bytes.length,
      read: () => Promise.reject(new Error("expected readInto")),
      async readInto(target: Uint8Array, offset: number) {
        mostReading = Math.max(mostReading, ++reading);
        await new Promise((resolve) => setTimeout(resolve, 5));
        target.set(bytes.subarray(offset, offset + target.length));
        reading--;
      },
    };
    await plan.load("w", source, { onProgress: (done) => progress.push(done) });
    const saved = await plan.save("w");
    plan.dispose();
    await backend.idle();
    const memory = backend.memory();
    await backend.dispose();
    return { mostReading, progress, isSame: stored.every((value, i) => saved[i] === value), memory };
  } catch (error) {
    await backend.idle();
    return { error: textOf(error), fields: { ...(error as object) }, reading, memory: backend.memory() };
  }
}

/** What follows a loss: another runtime, and the reason why it has no CUDA. */
async function afterLoss(): Promise<object> {
  const { messages } = await lost();
  return { messages, ...(await withoutCuda()) };
}

/** What a runtime computes without CUDA, and the reason why it has none. */
async function withoutCuda(): Promise<object> {
  const runtime = await createRuntime({ backends: [cuda({ kernelCache: false }), reference()] });
  const y = await runtime.neg(runtime.tensor(Float32Array.of(5), [1]));
  const values = [...(await y.data())];
  const { unavailable } = runtime.candidates[0]!;
  await runtime.dispose();
  return { values, unavailable };
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function lost(): Promise<{ readonly messages: readonly string[] }> {
  const backend = await cuda({ kernelCache: false }).open();
  const program = createProgram();
  program.output("y", program.element(program.input("x", "f32", [1]), { index: 0 }));
  const plan = await backend.compile(program);
  // Two that are pending when the device is lost, and a later one.
  const pending = [1, 2].map((x) => plan.run({ x: Float32Array.of(x) }).y!.data());
  const messages = (await Promise.allSettled(pending)).map((result) => (result.status === "rejected" ? textOf(result.reason) : "no error"));
  try {
    plan.run({ x: Float32Array.of(3) });
  } catch (error) {
    messages.push(textOf(error));
  }
  plan.dispose();
  await backend.dispose();
  return { messages };
}

/** Runs with the machine code of kernels in the folder of the second argument. */
async function cached(): Promise<object> {
  const backend = await cuda({ kernelCache: process.argv[3]! }).open();
  const program = createProgram();
  program.output("y", program.element(program.input("x", "f32", [1]), { index: 0 }));
  const plan = await backend.compile(program);
  const values = [...(await plan.run({ x: Float32Array.of(5) }).y!.data())];
  await backend.dispose();
  return { values };
}

async function readings(): Promise<object> {
  try {
    return await readDevices();
  } catch (error) {
    return { error: textOf(error) };
  }
}

const scenarios: Readonly<Record<string, () => Promise<object>>> = {
  whole,
  profile,
  withinTheCall,
  driverErrors,
  refusals,
  hostCopies,
  open,
  load,
  lost,
  afterLoss,
  withoutCuda,
  cached,
  readings,
};
console.log(JSON.stringify(await scenarios[scenario!]!()));
