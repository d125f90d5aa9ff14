import { conformanceSample, conformanceTests, NotApplicable } from "@centella/conformance";
import type { Backend } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import type { Capabilities, OptionalFeature } from "../../src/device/capabilities.ts";
import { openDevice } from "../../src/device/device.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { overlay } from "../support/guardedGpu.ts";
import { openBackend } from "../support/openBackend.ts";
import { Dispatches, type NamedDispatch } from "../wgsl/kernelTexts.ts";

/** The features of each run, as those that it leaves unused. The first is that of `conformance.grid.test.ts`. */
const runs = {
  nothing: ["subgroups", "shader-f16", "packed_4x8_integer_dot_product"],
  subgroups: ["shader-f16", "packed_4x8_integer_dot_product"],
  "subgroups and packed dot products": ["shader-f16"],
} satisfies Readonly<Record<string, readonly OptionalFeature[]>>;

async function capabilitiesWithout(disabledFeatures: readonly OptionalFeature[]): Promise<Capabilities> {
  const { device, capabilities } = await openDevice({ disabledFeatures });
  device.destroy();
  return capabilities;
}

const sample = conformanceSample();

/** Weights whose kernels differ from those of other types only in how they are decoded, which no feature changes. */
const alike = /\b(iq\w+|tq\w+|mxfp4|nvfp4|q[235]_\w+)\b/;
const packedProducts = /: (q4_K|q6_K|q8_0) .*ggml activations$/;

/** Whole programs take long: tests of models run them with all features. */
function isChosen(id: string): boolean {
  if (isWholeGrid) return true;
  return !id.startsWith("program: ") && (sample.has(id) ? !alike.test(id) : packedProducts.test(id));
}

/** The tests that a backend computes with kernels of its own, and the backend. Programs are known when they are compiled. */
async function openRun(name: keyof typeof runs, earlier: readonly (keyof typeof runs)[]) {
  const { backend } = await openBackend({ disabledFeatures: runs[name] });
  const dispatchesOf = async (run: keyof typeof runs) => new Dispatches(await capabilitiesWithout(runs[run]));
  const capabilities = await capabilitiesWithout(runs[name]);
  const [own, others] = [new Dispatches(capabilities), await Promise.all(earlier.map(dispatchesOf))];
  const reason = `its kernels are those of ${earlier.join(" or ")}`;
  const refusal = (dispatchesIn: (device: Dispatches) => readonly NamedDispatch[]): string | undefined => {
    const texts = (device: Dispatches): string[] => dispatchesIn(device).map(({ dispatch }) => dispatch.code);
    const known = new Set(others.flatMap(texts));
    return texts(own).some((text) => !known.has(text)) ? undefined : reason;
  };
  const askedForCalls = overlay(backend, {
    unsupported: (...call: Parameters<Backend["unsupported"]>) => {
      return backend.unsupported(...call) ?? refusal((device) => device.ofCall(...call));
    },
  });
  const compiling = overlay(backend, {
    compile: async (...call: Parameters<Backend["compile"]>) => {
      const refused = refusal((device) => device.ofProgram(call[0]));
      if (refused !== undefined) throw new NotApplicable(refused);
      return backend.compile(...call);
    },
  });
  const tests = conformanceTests().filter(({ id, unsupported }) => isChosen(id) && unsupported(askedForCalls) === undefined);
  return { backend: compiling, capabilities, tests };
}

function describeRun(title: string, name: keyof typeof runs, earlier: readonly (keyof typeof runs)[]): Promise<void> {
  return describeOpened(title, openRun(name, earlier), ({ backend, capabilities, tests }) => {
    afterAll(() => backend.dispose());
    test("unnamed features are left unused", () => {
      const { f16, packedDotProducts } = capabilities;
      expect({ f16, packedDotProducts }).toEqual({ f16: false, packedDotProducts: name.includes("packed dot products") });
    });
    for (const { id, run } of tests) {
      test(id, async ({ skip }) => {
        try {
          await run(backend);
        } catch (error) {
          if (!(error instanceof NotApplicable)) throw error;
          skip(error.message);
        }
      });
    }
  });
}

await describeRun("webgpu with subgroups", "subgroups", ["nothing"]);
await describeRun("webgpu with subgroups and packed dot products", "subgroups and packed dot products", ["nothing", "subgroups"]);
