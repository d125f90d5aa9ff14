import { type BackendFactory, createRuntime, type Runtime } from "@centella/core";
import { isRequired } from "@centella/test-devices";
import { afterAll, describe, test } from "vitest";
import { describeGenerating } from "./modelGenerating.ts";
import { describeMeasures } from "./modelMeasures.ts";
import { describeGreedy, describeLogits } from "./modelOracle.ts";
import { describeSaving } from "./modelSaving.ts";
import { describeSessions } from "./modelSessions.ts";
import { describeTurns } from "./modelTurns.ts";
import type { ModelSuiteOptions, SuiteContext } from "./suiteContext.ts";

/** The one suite of models that every backend runs, against llama.cpp's own outputs. */
export function describeModel(name: string, factory: BackendFactory, { isExact, scope, isSample = false }: ModelSuiteOptions): void {
  describe(`models on ${name}`, async () => {
    const runtime = await openOrReason(factory);
    if (typeof runtime === "string") {
      if (!isRequired(name)) test.skip(`${name} is not available: ${runtime}`, () => undefined);
      else {
        test(`${name} is available`, () => {
          throw new Error(`${name} is required by REQUIRE_BACKENDS, but it is not available: ${runtime}`);
        });
      }
      return;
    }
    afterAll(() => runtime.dispose());
    const isSoftware = runtime.backends[0]?.device.kind === "software-gpu";
    const context = { runtime, isExact, scope: scope ?? (isSoftware ? "smoke" : "all"), isSample };
    describeLogits(context);
    describeGreedy(context);
    // Sessions are the same code on every backend, and the tests of WASM have all of them: slow backends leave them out.
    if (hasSessions(context)) {
      describeSessions(context);
      describeTurns(context);
      describeSaving(context);
    } else test.skip("sessions, turns and saving (not in the sample, or too slow on a software GPU)", () => undefined);
    if (context.scope === "all") {
      describeGenerating(context);
      describeMeasures(context);
    }
  });
}

/** The scope "small" is a slow backend's: only the whole grid has its sessions. */
function hasSessions({ scope, isSample }: SuiteContext): boolean {
  return scope !== "smoke" && !isSample;
}

async function openOrReason(factory: BackendFactory): Promise<Runtime | string> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const [candidate] = runtime.candidates;
  return candidate?.unavailable ?? runtime;
}
