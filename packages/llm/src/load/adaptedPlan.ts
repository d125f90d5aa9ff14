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

/**
 * The plan of a model with named adapters. Has a program compiled for runs that use none of them, and for each set of them once a run uses
 * it, so that runs do not compute adapters that add nothing.
 * @throws as `runtime.compile`
 */
export async function adaptedPlan(program: AdaptedProgram): Promise<RunnablePlan> {
  return new PlanBySet(program, await compiledFor([], program));
}

/** Compiles the program with the named adapters at these places. It shares the weights and the cache. */
async function compiledFor(places: readonly number[], { runtime, adapters, adapted, record, prepare }: AdaptedProgram): Promise<Plan> {
  const plan = await runtime.compile(record(adapters.at(places)).program, { shareWith: adapted });
  try {
    await prepare?.(plan);
    return plan;
  } catch (error) {
    plan.dispose();
    throw error;
  }
}

/** Sets of named adapters that have a program, besides none and all of them. Each program has memory for its intermediate results. */
const maxSets = 8;

/** Runs the program with the adapters that the run's tokens use, or the one with all adapters while there is no such program. */
class PlanBySet implements RunnablePlan {
  readonly #program: AdaptedProgram;
  readonly #plain: RunnablePlan;
  /** By the places of the adapters. Undefined while the program is compiled, and if it cannot be. */
  readonly #plans = new Map<string, RunnablePlan | undefined>();
  #isDisposed = false;

  constructor(program: AdaptedProgram, plain: RunnablePlan) {
    this.#program = program;
    this.#plain = plain;
  }

  run(...[inputs, options]: Parameters<RunnablePlan["run"]>): ReturnType<RunnablePlan["run"]> {
    const { adapted, adapters } = this.#program;
    const places = [...adapters.names.keys()];
    const isUsed = (place: number): boolean => (inputs[scaleInput(place)] as Float32Array).some((scale) => scale !== 0);
    const used = places.filter(isUsed);
    const plan = used.length === places.length ? adapted : this.#planOf(used);
    if (plan === undefined) return adapted.run(inputs, options);
    const own = { ...inputs };
    for (const place of places) if (!used.includes(place)) delete own[scaleInput(place)];
    return plan.run(own, options);
  }

  dispose(): void {
    this.#isDisposed = true;
    for (const plan of this.#plans.values()) plan?.dispose();
    this.#plain.dispose();
    this.#program.adapted.dispose();
  }

  /** The program of a set, if it is compiled. Otherwise has it compiled for later runs. */
  #planOf(places: readonly number[]): RunnablePlan | undefined {
    if (places.length === 0) return this.#plain;
    const key = places.join();
    if (!this.#plans.has(key) && this.#plans.size < maxSets) {
      this.#plans.set(key, undefined);
      // Runs go on with all adapters if it fails, with the same results.
      this.#compile(key, places).catch(() => undefined);
    }
    return this.#plans.get(key);
  }

  async #compile(key: string, places: readonly number[]): Promise<void> {
    const plan = await compiledFor(places, this.#program);
    if (this.#isDisposed) plan.dispose();
    else this.#plans.set(key, plan);
  }
}
