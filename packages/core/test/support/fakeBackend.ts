import type { Backend } from "../../src/backend/backend.ts";
import { type BackendFactory, type DeviceInfo, reference, Tensor } from "../../src/index.ts";
import type { ProgramGraph } from "../../src/program/programGraph.ts";

/** Differences between a fake backend and the reference that it computes with. */
export interface Fake {
  readonly name: string;
  readonly device?: DeviceInfo;
  readonly unsupported?: Backend["unsupported"];
  /** Called before each compile. */
  readonly onCompile?: () => void;
  /** Called when a plan is disposed. */
  readonly onDispose?: () => void;
  /** Called before each run with its program. Its errors reach the caller of `run`. */
  readonly onRun?: (program: ProgramGraph) => void;
  /** Called for the outputs of a run, which reject with its error. */
  readonly onReady?: () => void;
  /** Whether it computes within the call. */
  readonly sync?: boolean;
}

/** Backend that behaves like the reference except for the given differences. */
export async function fakeBackend({
  name,
  device,
  unsupported,
  onCompile,
  onDispose,
  onRun,
  onReady,
  sync = false,
}: Fake): Promise<Backend> {
  const real = await reference().open();
  return {
    name,
    device: device ?? { kind: "cpu", name: "fake" },
    syncAvailable: sync,
    ...(sync && {
      compileSync(program: ProgramGraph) {
        const plan = real.compileSync!(program);
        const run = plan.runSync!.bind(plan);
        const runSync: typeof run = (...args) => {
          onRun?.(plan.program);
          return run(...args);
        };
        return Object.assign(plan, { runSync });
      },
    }),
    counters: real.counters,
    unsupported: unsupported ?? (() => undefined),
    async compile(program, options) {
      onCompile?.();
      const plan = await real.compile(program, options);
      return {
        program: plan.program,
        warnings: plan.warnings,
        load: (...args) => plan.load(...args),
        save: (...args) => plan.save(...args),
        reset: (...args) => plan.reset(...args),
        profile: (...args) => plan.profile(...args),
        run(...args) {
          onRun?.(plan.program);
          const outputs = plan.run(...args);
          if (onReady === undefined) return outputs;
          return Object.fromEntries(Object.entries(outputs).map(([key, output]) => [key, failing(output, onReady)]));
        },
        dispose() {
          onDispose?.();
          plan.dispose();
        },
      };
    },
    upload: (...args) => real.upload(...args),
    memory: () => real.memory(),
    idle: () => real.idle(),
    dispose: () => real.dispose(),
  };
}

function failing(output: Tensor, onReady: () => void): Tensor {
  return new Tensor(output.spec, {
    device: "fake",
    ready: async () => onReady(),
    read: async () => {
      onReady();
      return output.data();
    },
    free: () => output.dispose(),
  });
}

export function fakeFactory(fake: Fake): BackendFactory {
  return { name: fake.name, open: () => fakeBackend(fake) };
}
