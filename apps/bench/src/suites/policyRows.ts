import { detect, wasm } from "@centella/backend-wasm";
import { type Backend, createRuntime, ops, reference, select, thresholds } from "@centella/core";
import type { Contestant, Row } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";

const square = { dtype: "f32", shape: [64, 64] } as const;

/** What it costs to find out what there is and to choose, and to call an op within the call. Not what kernels cost. */
export function policyRows(backends: readonly Backend[]): readonly Row[] {
  const opened = backends.find(({ name }) => name === "wasm");
  return opened === undefined ? [] : [choiceRow(opened), syncRow()];
}

/** Detection for WASM and the opened reference, then the choice among both for one product: no kernel is emitted. */
function choiceRow(opened: Backend): Row {
  return row("detect and select", "wasm, reference", async () => {
    const scalar = await reference().open();
    const candidates = [opened, scalar].map((backend) => ({ name: backend.name, backend }));
    return {
      sample: timed(async () => {
        const { simd } = detect();
        await reference().open();
        return simd && select(ops.matmul, [square, square], ops.matmul.defaults, [], candidates, thresholds);
      }),
      dispose: () => scalar.dispose(),
    };
  });
}

/** `runtime.sync.add` of 16 elements on WASM, kernel included: next to "replay 1 op" it shows what the call costs. */
function syncRow(): Row {
  return row("sync add of 16", "wasm", async () => {
    const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    const a = runtime.tensor(new Float32Array(16));
    return { sample: timed(() => runtime.sync.add(a, a)), dispose: () => runtime.dispose() };
  });
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
