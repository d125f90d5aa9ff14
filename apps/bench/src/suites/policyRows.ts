import { detect, wasm } from "@centella/backend-wasm";
import { type Backend, createProgram, createRuntime, type Program, reference } from "@centella/core";
import { ops, select } from "@centella/core/backend";
import type { Contestant, Row } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";

const square = { dtype: "f32", shape: [64, 64] } as const;

/** Costs of detecting backends, choosing one, and calling an op within the call, without the costs of kernels. */
export function policyRows(backends: readonly Backend[]): readonly Row[] {
  const opened = backends.find(({ name }) => name === "wasm");
  return opened === undefined ? [] : [choiceRow(opened), syncRow(), overheadRow()];
}

/** Detection of WASM and opening of the reference, then the choice between both for one product. No kernel is emitted. */
function choiceRow(opened: Backend): Row {
  return row("detect and select", "wasm, reference", async () => {
    const scalar = await reference().open();
    const candidates = [opened, scalar].map((backend) => ({ name: backend.name, backend }));
    return {
      sample: timed(async () => {
        const { simd } = detect();
        await reference().open();
        return simd && select(ops.matmul, [square, square], ops.matmul.defaults, [], candidates);
      }),
      dispose: () => scalar.dispose(),
    };
  });
}

/** `runtime.sync.add` of 16 elements on WASM, kernel included. */
function syncRow(): Row {
  return row("sync add of 16", "wasm", async () => {
    const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    const a = runtime.tensor(new Float32Array(16));
    return { sample: timed(() => runtime.sync.add(a, a)), dispose: () => runtime.dispose() };
  });
}

/** Number of additional ops in the longer of two plans, whose difference is the cost of one op. */
const further = 200;

/**
 * Overhead of a call over its kernel: `runtime.sync.softmax` of 16 elements, minus the cost of one more softmax in a plan (softmax calls
 * do not fuse). Both take turns in one process, so that other load of the machine affects both.
 */
function overheadRow(): Row {
  return row("sync call above its kernel", "wasm", async () => {
    const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    const data = new Float32Array(16);
    const x = runtime.tensor(data, [1, 16]);
    const [one, many] = await Promise.all([runtime.compile(softmaxes(1)), runtime.compile(softmaxes(1 + further))]);
    const call = timed(() => runtime.sync.softmax(x));
    const [short, long] = [one, many].map((plan) => timed(() => plan.runSync!({ x: data }))) as [typeof call, typeof call];
    return {
      async sample(calls, first) {
        const plans = Math.max(16, Math.ceil(calls / further));
        const kernels = (await long(plans, first)) - (await short(plans, first));
        return (await call(calls, first)) - (kernels / (plans * further)) * calls;
      },
      async dispose() {
        for (const plan of [one, many]) plan.dispose();
        await runtime.dispose();
      },
    };
  });
}

function softmaxes(count: number): Program {
  const program = createProgram();
  let x = program.input("x", "f32", [1, 16]);
  for (let i = 0; i < count; i++) x = program.softmax(x);
  program.output("y", x);
  return program;
}

function row(id: string, name: string, prepare: () => Promise<Omit<Awaited<ReturnType<Contestant["prepare"]>>, "result">>): Row {
  return {
    id,
    metric: "µs",
    bound: "none",
    work: { ops: 1 },
    data: "-",
    isLarge: false,
    contestants: [{ name, side: "ours", threads: 1, prepare: async () => ({ ...(await prepare()), result: async () => undefined }) }],
    verify: () => undefined,
  };
}
