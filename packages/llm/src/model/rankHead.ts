import type { Plan } from "@centella/core";
import { ProgramError } from "@centella/core";
import type { Pooling } from "./pooling.ts";

/** Maximum number of texts that a run of a head scores. */
export const textsPerRun = 64;

/** The compiled classification head of a reranker. */
export class RankHead {
  /** Which states of a text the head reads. */
  readonly pooling: Pooling;
  readonly #plan: Plan;

  constructor(plan: Plan, pooling: Pooling) {
    this.#plan = plan;
    this.pooling = pooling;
  }

  /** Scores of texts by their pooled states: the value of the first label, as llama-server returns it. */
  async score(states: readonly Float32Array[]): Promise<readonly number[]> {
    const scores: number[] = [];
    for (let from = 0; from < states.length; from += textsPerRun) scores.push(...(await this.#run(states.slice(from, from + textsPerRun))));
    return scores;
  }

  dispose(): void {
    this.#plan.dispose();
  }

  async #run(states: readonly Float32Array[]): Promise<readonly number[]> {
    const width = states[0]?.length ?? 0;
    const rows = new Float32Array(states.length * width);
    for (const [i, row] of states.entries()) rows.set(row, i * width);
    const { scores } = this.#plan.run({ states: rows }, { dims: { nTexts: states.length } });
    if (scores === undefined) throw new ProgramError("rerank: expected a program with the output scores, got none");
    try {
      const values = await scores.data();
      const labels = values.length / states.length;
      return states.map((_, i) => Number(values[i * labels]));
    } finally {
      scores.dispose();
    }
  }
}
