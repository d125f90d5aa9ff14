import type { Plan, Runtime } from "@centella/core";
import type { RecordedModel } from "../model/recordModel.ts";
import type { RunnablePlan } from "../scheduler/batch.ts";
import type { FurtherInputs } from "../scheduler/runInputs.ts";
import { type Adapters, type RecordedAdapters, scaleInput } from "./adapters.ts";

/** Inputs of a model with named adapters: each adapter's scale for every token, `[T, 1]`, and the model's other inputs. */
export function adapterInputs({ names }: Pick<Adapters, "names">, others?: FurtherInputs): FurtherInputs {
  return (slices) => {
    const tokens = slices.reduce((sum, { count }) => sum + count, 0);
    const data = names.map((_, index) => {
      const scales = new Float32Array(tokens);
      let token = 0;
      for (const { request, count } of slices) {
        scales.fill(request.sequence.adapters?.scales[index] ?? 0, token, token + count);
        token += count;
      }
      return [scaleInput(index), scales] as const;
    });
    const further = others?.(slices);
    return { data: { ...further?.data, ...Object.fromEntries(data) }, dims: { ...further?.dims } };
  };
}

/** What {@link adaptedPlan} compiles. */
export interface AdaptedProgram {
  readonly runtime: Runtime;
  readonly adapters: Adapters;
  /** The program with all adapters. */
  readonly adapted: Plan;
  /** Records the program with other adapters. */
  readonly record: (adapters: RecordedAdapters) => RecordedModel;
  /** Has the kernels of runs compiled. */
  readonly prepare?: (plan: Plan) => Promise<void>;
}

/** The plan of a model with named adapters. Compiles a second program for runs that use none of them. @throws as `runtime.compile` */
export async function adaptedPlan({ runtime, adapters, adapted, record, prepare }: AdaptedProgram): Promise<RunnablePlan> {
  const plain = await runtime.compile(record(adapters.always).program, { shareWith: adapted });
  try {
    await prepare?.(plain);
  } catch (error) {
    plain.dispose();
    throw error;
  }
  return planByScales(adapted, plain, adapters);
}

/** Runs `adapted`, or `plain` if all scales of the run's tokens are 0. Products with adapters that add nothing are then not computed. */
function planByScales(adapted: RunnablePlan, plain: RunnablePlan, { names }: Pick<Adapters, "names">): RunnablePlan {
  return {
    run(inputs, options) {
      const own = { ...inputs };
      let isAdapted = false;
      for (const name of names.map((_, index) => scaleInput(index))) {
        isAdapted ||= (inputs[name] as Float32Array).some((scale) => scale !== 0);
        delete own[name];
      }
      return isAdapted ? adapted.run(inputs, options) : plain.run(own, options);
    },
    dispose() {
      plain.dispose();
      adapted.dispose();
    },
  };
}
