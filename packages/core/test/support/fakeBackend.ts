import { type Backend, type BackendFactory, type DeviceInfo, reference } from "../../src/index.ts";

/** What a fake changes of the reference that it computes with. */
export interface Fake {
  readonly name: string;
  readonly device?: DeviceInfo;
  readonly unsupported?: Backend["unsupported"];
  /** Called before each compile. */
  readonly onCompile?: () => void;
  /** Called when a plan is disposed. */
  readonly onDispose?: () => void;
  /** Given the outputs' handles; what it throws reaches the caller of `run`. */
  readonly onRun?: () => void;
}

/** A backend that answers like the reference except for what the test is about. */
export async function fakeBackend({ name, device, unsupported, onCompile, onDispose, onRun }: Fake): Promise<Backend> {
  const real = await reference().open();
  return {
    name,
    device: device ?? { kind: "cpu", name: "fake" },
    syncAvailable: false,
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
        run(...args) {
          onRun?.();
          return plan.run(...args);
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

export function fakeFactory(fake: Fake): BackendFactory {
  return { name: fake.name, open: () => fakeBackend(fake) };
}
