// Run in a process of its own, with the stand-in for libcuda.so.1 on the library path. Prints what it saw as JSON.
import { createProgram } from "@centella/core";
import { cuda } from "../../src/index.ts";
import { openNativeDriver } from "../../src/nativeDriver.ts";

const scenario = process.argv[2];

async function whole(): Promise<object> {
  const backend = await cuda().open();
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const w = program.persistent("w", { dtype: "f16", shape: [3] });
  const state = program.persistent("state", { dtype: "i32", shape: [2] }, { init: "zeros" });
  program.output("first", program.element(x, { index: 0 }));
  program.output("same", x);
  program.output("w", w);
  program.output("kept", program.element(x, { index: 1 }), { to: "device" });
  program.output("state", state);
  const plan = await backend.compile(program);
  const stored = new Uint8Array(new Uint16Array([1, 2, 3]).buffer);
  await plan.load("w", { size: 6, read: async (offset, length) => stored.slice(offset, offset + length) });
  const runs: unknown[] = [];
  const before = { ...backend.counters };
  const outputs = Array.from({ length: 5 }, (_, i) => plan.run({ x: Float32Array.of(i, 10, 20, 30) }));
  for (const output of outputs) {
    const values: Record<string, number[]> = {};
    for (const [name, tensor] of Object.entries(output)) values[name] = [...(await tensor.data())];
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
  const backend = await cuda().open();
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
  const backend = await cuda().open();
  const program = createProgram();
  const x = program.input("x", "f32", [2]);
  program.output("first", program.element(x, { index: 0 }));
  program.output("same", x);
  program.output("kept", program.element(x, { index: 0 }), { to: "device" });
  const plan = backend.compileSync!(program);
  const run = (value: number): object => {
    const outputs = plan.runSync!({ x: Float32Array.of(value, -1) });
    return Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, [...values]]));
  };
  const runs: object[] = [run(1), run(2)];
  const later = plan.run({ x: Float32Array.of(3, -1) });
  let refused = "";
  try {
    run(4);
  } catch (error) {
    refused = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
  await later.kept!.ready();
  const peeked = [...later.kept!.dataSync()];
  runs.push(run(5));
  for (const tensor of Object.values(later)) tensor.dispose();
  plan.dispose();
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
      seen[name] = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
  };
  await attempt("memory", () => driver.alloc(2 ** 40));
  await attempt("module", () => driver.loadModule("rejected"));
  await attempt("entry", async () => driver.kernel(await driver.loadModule("fine"), "", 0));
  await attempt("module within the call", () => driver.loadModuleSync("rejected"));
  await attempt("kernel within the call", () => driver.kernel(driver.loadModuleSync("fine"), "kernel", 0));
  await attempt("module of a wrong type", () => driver.loadModuleSync(JSON.parse("1")));
  await attempt("finished within the call", () => driver.finishedSync());
  await attempt("finished", () => driver.finished());
  await attempt("wrong type", () => driver.free(JSON.parse("1")));
  driver.close();
  await attempt("closed", () => driver.alloc(1));
  await attempt("waited for after close", () => driver.finishedSync());
  await attempt("closed twice", () => driver.close());
  return seen;
}

async function open(): Promise<object> {
  try {
    await cuda().open();
    return {};
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

async function lost(): Promise<object> {
  const backend = await cuda().open();
  const program = createProgram();
  program.output("y", program.element(program.input("x", "f32", [1]), { index: 0 }));
  const plan = await backend.compile(program);
  const messages: string[] = [];
  for (let i = 0; i < 2; i++) {
    try {
      await plan.run({ x: Float32Array.of(1) }).y!.data();
    } catch (error) {
      messages.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
  }
  plan.dispose();
  await backend.dispose();
  return { messages };
}

const scenarios: Readonly<Record<string, () => Promise<object>>> = { whole, profile, withinTheCall, driverErrors, open, lost };
console.log(JSON.stringify(await scenarios[scenario!]!()));
