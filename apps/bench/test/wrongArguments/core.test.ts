import { wasm } from "@centella/backend-wasm";
import { cases, contentsOf, type OpCase, sourceOf } from "@centella/conformance";
import * as core from "@centella/core";
import { createBatch, createProgram, createRuntime, type OpName, type Runtime, reference, type Tensor } from "@centella/core";
import * as spi from "@centella/core/backend";
import { type AnyOp, ops } from "@centella/core/backend";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Calls, callExports, callMethods, complaintsOf, excused, sampled } from "./harness.ts";
import { whole } from "./values.ts";

const forBackends = excused("for backends and passes: takes programs and specs that the recorder has checked");

const f32 = (...values: readonly number[]): Float32Array => Float32Array.from(values);

const custom = {
  name: "doubled",
  inputs: ["x"],
  defaults: { by: 2 },
  infer: ([x]: readonly core.TensorSpec[]) => x!,
  cost: () => ({ flops: 1, bytes: 8 }),
  reference: ([x]: readonly core.HostTensor[], { by }: { readonly by: number }, y: core.HostTensor) =>
    y.data.set(Float32Array.from(x!.data, (each) => (typeof by === "number" ? each * by : each))),
};

/** A program with a dim, an input, a weight, a state and two outputs. */
function recorded(): { readonly program: core.Program; readonly x: core.Value; readonly w: core.Value } {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 4), 2]);
  const w = program.persistent("w", { dtype: "f32", shape: [2] });
  const state = program.persistent("state", { dtype: "f32", shape: [2] }, { init: "zeros" });
  program.output("y", program.add(x, w));
  program.output("next", program.assign(state, program.scale(w, { by: 2 })), { to: "device" });
  return { program, x, w };
}

const inputs = { x: f32(1, 2, 3, 4) };

/** Calls of the methods that the recorder, the runtime and batches have besides ops. */
const opNames = Object.keys(ops) as OpName[];
const withoutOps = (calls: Calls): Calls => ({
  ...Object.fromEntries(opNames.map((name) => [name, excused("tried for each op")])),
  ...calls,
});

test("core: wrong arguments are typed errors", async () => {
  const runtime = await createRuntime({ backends: [reference()] });
  const [backend] = runtime.backends;
  const { program, x } = recorded();
  const spec = { dtype: "f32", shape: [2] };
  const candidates = whole(runtime.candidates);
  const splitting = createProgram();
  const shape = program.values[x.id]!.spec.shape;
  await callExports("core", core, {
    Value: forBackends,
    Tensor: forBackends,
    createBatch: [whole(backend)],
    createProgram: [],
    createRecorder: [],
    createRuntime: [
      {
        backends: [whole(reference())],
        policy: {
          force: "reference",
          allowSoftware: false,
          thresholds: { wasm: { matmul: { min: 1, unit: "flops" } } },
          fallback: "retry",
          maxPlans: 3,
          maxPlanBytes: 1000,
          trace: true,
        },
      },
    ],
    formatExplanation: [whole(runtime.explain("relu", [{ dtype: "f32", shape: [2] }]))],
    formatReport: [whole(runtime.report())],
    reference: [{ optimize: true }],
    split: [whole(splitting), whole(splitting.input("x", "f32", [2])), { axis: 0, sizes: [1, 1] }],
  });
  await callExports("core/backend", spi, {
    WorkQueue: forBackends,
    LruCache: forBackends,
    PersistentBuffer: forBackends,
    ResultHolder: forBackends,
    PlanBase: forBackends,
    chunksOf: forBackends,
    countStep: forBackends,
    persistentBytes: forBackends,
    requireIdle: forBackends,
    sharedPlan: forBackends,
    alibiSlope: forBackends,
    broadcastStrides: forBackends,
    bucketOf: forBackends,
    bucketsOf: forBackends,
    byteLength: [spec],
    callKey: forBackends,
    checkData: ["here", spec, f32(1, 2)],
    compileOptions: forBackends,
    completeParams: forBackends,
    createCounters: [],
    decode: [spec, f32(1, 2)],
    decodedArrayOf: ["f32"],
    dimsKey: forBackends,
    elementCount: [[2, 3]],
    encode: [spec, f32(1, 2)],
    evaluateBody: forBackends,
    explain: [whole(program), whole(backend)],
    formatShape: [[2, whole(shape[0])]],
    formatSpec: [spec],
    elementAt: forBackends,
    entryOf: forBackends,
    lastOf: forBackends,
    formatRejection: forBackends,
    mapTuple: forBackends,
    tupleOf: forBackends,
    hostMemory: forBackends,
    hostTensor: [spec, f32(1, 2)],
    isFused: forBackends,
    isInteger: ["f32"],
    isQuantized: ["f32"],
    largestDims: forBackends,
    layoutOf: ["f32"],
    lower: forBackends,
    maxSpec: forBackends,
    openCandidates: forBackends,
    philox4x32: forBackends,
    planArena: forBackends,
    planSlots: forBackends,
    resolveAxis: forBackends,
    resolveDim: forBackends,
    resolveSpec: forBackends,
    resultsOf: forBackends,
    sameShape: forBackends,
    sampleReference: forBackends,
    select: [whole(ops.relu), [spec], {}, ["host"], candidates, { force: "reference", allowSoftware: true, thresholds: {} }],
    siblingsUnsupported: forBackends,
    specAt: forBackends,
    splitRows: forBackends,
    anchoredGroup: forBackends,
    typedArrayOf: ["f32"],
    uniformAt: forBackends,
    HostArrays: forBackends,
    PendingOutputs: forBackends,
    chosenSum: forBackends,
    distanceOf: forBackends,
    minPWeight: forBackends,
    missingPersistents: forBackends,
    normedProducts: forBackends,
    randomWord: forBackends,
    topPSum: forBackends,
    weightOf: forBackends,
    withPersistents: forBackends,
    unlessAborted: forBackends,
    usesOf: forBackends,
    variantKey: forBackends,
  });
  await runtime.dispose();
});

describe.each([
  ["reference", () => reference()],
  ["wasm", () => wasm({ threads: 1 })],
])("%s: wrong arguments are typed errors", (name, factory) => {
  let runtime: Runtime;
  let backend: core.Backend;

  beforeAll(async () => {
    runtime = await createRuntime({ backends: [factory()], policy: { force: name } });
    backend = runtime.backends[0]!;
  });
  afterAll(async () => runtime.dispose());

  test("runtime", async () => {
    const { program } = recorded();
    const tensor = runtime.tensor(f32(1, 2));
    await callMethods(
      "runtime",
      runtime,
      withoutOps({
        tensor: [f32(1, 2), [2], "f32"],
        lazy: [f32(1, 2), [2], "f32"],
        select: [whole(program)],
        compile: sampled(200, whole(program), { signal: new AbortController().signal, placement: { w: name, state: [name] } }),
        explain: ["relu", [{ dtype: "f32", shape: [2] }], {}, { devices: ["host"], sync: true }],
        report: [],
        calibrate: sampled(20, { budgetMs: 1, machine: "m" }),
        custom: [custom, [whole(tensor)], { by: 3 }],
        dispose: excused("takes nothing"),
      }),
    );
    await callMethods("tensor", tensor, { data: [], dataSync: [], ready: [], readInto: [new Float32Array(2)], dispose: [] });
  });

  test("a lazy tensor", async () => {
    const lazy = runtime.lazy(f32(1, 2));
    const names = Object.fromEntries(opNames.filter((op) => op in lazy).map((op) => [op, excused("tried for each op")]));
    await callMethods("lazy", lazy, {
      ...names,
      data: [],
      tensor: [],
      custom: [{ ...custom, inputs: ["x", "y"] }, [whole(lazy)], { by: 3 }],
    });
  });

  test("a recorder", async () => {
    const { program, x } = recorded();
    let declared = 0;
    const fresh = (): string => `name${declared++}`;
    // A name is declared once: each call that is right takes another.
    const input = program.input.bind(program);
    const calls = {
      dim: [4],
      input: ["f32", [2, 3]],
      persistent: [{ dtype: "f32", shape: [2] }, { init: "zeros" }],
      output: [whole(x), { to: "device" }],
    } as const;
    for (const [method, args] of Object.entries(calls)) {
      const call = (rest: readonly unknown[]): unknown =>
        (program as never as Record<string, (...all: unknown[]) => unknown>)[method]!(fresh(), ...rest);
      expect(await complaintsOf(`program.${method}`, call, args)).toEqual([]);
    }
    expect(await complaintsOf("program.input", ([first]) => input(first as string, "f32", [2]), ["x2"])).toEqual([]);
    await callMethods(
      "program",
      program,
      withoutOps({
        dim: excused("above"),
        input: excused("above"),
        persistent: excused("above"),
        output: excused("above"),
        constant: [f32(1, 2), "f32", [2]],
        record: [whole(ops.relu), [whole(x)], {}],
        custom: [custom, [whole(x)], { by: 3 }],
        explain: [whole(backend)],
      }),
    );
  });

  test("a plan", async () => {
    const plan = await runtime.compile(recorded().program);
    await plan.load("w", sourceOf(f32(1, 2)));
    const { signal } = new AbortController();
    const source = sourceOf(f32(1, 2));
    const readInto = async (target: Uint8Array): Promise<void> => void target.fill(0);
    const sourceObject = { size: source.size, read: source.read.bind(source), readInto };
    const outputs = async (given: unknown): Promise<void> => {
      for (const output of Object.values(given as Record<string, Tensor>)) {
        await output.ready();
        output.dispose();
      }
    };
    const run = async ([first, options]: readonly unknown[]): Promise<void> => outputs(plan.run(first as typeof inputs, options as never));
    expect(await complaintsOf("plan.run", run, [inputs, { dims: { T: 2 }, signal }])).toEqual([]);
    await plan.load("w", sourceOf(f32(1, 2)));
    const runSync = ([first, options]: readonly unknown[]): unknown => plan.runSync!(first as typeof inputs, options as never);
    expect(await complaintsOf("plan.runSync", runSync, [inputs, { dims: { T: 2 } }])).toEqual([]);
    const profile = ([first, options]: readonly unknown[]): unknown => plan.profile(first as typeof inputs, options as never);
    expect(await complaintsOf("plan.profile", profile, [inputs, { dims: { T: 2 }, perStep: false, signal }])).toEqual([]);
    const load = ([first, second, third]: readonly unknown[]): unknown =>
      plan.load(first as string, second as typeof source, third as never);
    expect(await complaintsOf("plan.load", load, ["w", sourceObject, { signal, onProgress: () => undefined }])).toEqual([]);
    expect(await complaintsOf("plan.save", ([first]) => plan.save(first as string), ["w"])).toEqual([]);
    expect(await complaintsOf("plan.reset", ([first]) => plan.reset(first as string), ["state"])).toEqual([]);
    plan.dispose();
  });

  test("a batch", async () => {
    const batch = createBatch(backend);
    const x = batch.upload(f32(1, 2));
    await callMethods(
      "batch",
      batch,
      withoutOps({
        upload: [f32(1, 2), [2], "f32"],
        keep: [whole(x)],
        custom: [custom, [whole(x)], { by: 3 }],
        execute: excused("below"),
        read: excused("below"),
        dispose: excused("takes nothing"),
      }),
    );
    batch.dispose();
    const execute = async (args: readonly unknown[]): Promise<void> => {
      using fresh = createBatch(backend);
      const y = fresh.relu(fresh.upload(f32(1, 2)));
      await fresh.execute(...(args as []));
      await fresh.read(y);
    };
    expect(await complaintsOf("batch.execute", execute, [{ signal: new AbortController().signal }])).toEqual([]);
    using executed = createBatch(backend);
    const y = executed.relu(executed.upload(f32(1, 2)));
    await executed.execute();
    expect(await complaintsOf("batch.read", ([handle]) => executed.read(handle as typeof y), [whole(y)])).toEqual([]);
  });

  test.each(opNames)("%s", async (op) => {
    const definition: AnyOp = ops[op];
    const opCase = cases[op].cases.find(({ inputs: tensors }) => tensors.every(({ shape }) => !shape.includes(0))) as OpCase<"clip">;
    const tensors = [...opCase.inputs, ...(definition.optionalInputs ?? []).flatMap((name) => opCase.optional?.[name] ?? [])];
    const contents = tensors.map((tensor, i) => contentsOf(tensor, i + 1));
    const complaints: string[] = [];
    const tryAll = async (where: string, object: object, handles: readonly unknown[], tries: number): Promise<void> => {
      const given = handles.slice(0, opCase.inputs.length).map(whole);
      const optional = (definition.optionalInputs ?? []).filter((name) => opCase.optional?.[name] !== undefined);
      const params = {
        ...definition.defaults,
        ...opCase.params,
        ...Object.fromEntries(optional.map((name, i) => [name, whole(handles[opCase.inputs.length + i])])),
      };
      const method = Reflect.get(object, op) as (...args: unknown[]) => unknown;
      const args = definition.variadic === true ? [given, params] : [...given, params];
      complaints.push(...(await complaintsOf(`${where}.${op}`, (each) => method.apply(object, [...each]), sampled(tries, ...args))));
    };
    const program = createProgram();
    const refs = contents.map(({ spec }, i) =>
      definition.writes === i ? program.persistent(`p${i}`, spec) : program.input(`x${i}`, spec.dtype, spec.shape),
    );
    // A write makes the version before it stale.
    if (definition.writes === undefined) await tryAll("program", program, refs, 200);
    if (definition.writes === undefined) {
      const handles = contents.map(({ spec, stored }) => runtime.tensor(stored, spec.shape, spec.dtype));
      await tryAll("runtime", runtime, handles, 12);
      await tryAll("runtime.sync", runtime.sync, handles, 12);
    }
    expect(complaints).toEqual([]);
  });
});
