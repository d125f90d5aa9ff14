import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { ModelConfig } from "./config.ts";
import type { mixture } from "./experts.ts";
import type { Family } from "./family.ts";

/** Mixes what tokens know: `x [T, d] -> [n, d]`; `pick` leaves the n tokens that matter of `[T, …]`. */
export type Mixer = (r: ModelBuilder, family: Family, config: ModelConfig, layer: number, x: Value, pick: (y: Value) => Value) => Value;

/** What layers of few models are recorded by; a page loads what its model has. */
export interface RareLayers {
  readonly recurrent?: Mixer;
  readonly latentAttention?: Mixer;
  readonly mixture?: typeof mixture;
}

/** Loads what a model has of them. */
export async function loadRareLayers({ recurrent, latent, experts }: ModelConfig): Promise<RareLayers> {
  return {
    ...(recurrent && { recurrent: (await import("./recurrent.ts")).recurrent }),
    ...(latent && { latentAttention: (await import("./latentAttention.ts")).latentAttention }),
    ...(experts && { mixture: (await import("./experts.ts")).mixture }),
  };
}
