import type { Gating } from "@centella/core/backend";

/** Mixture of experts; see the ops `moeRoute` and `moeWeights`. */
export interface ExpertsConfig {
  readonly count: number;
  readonly used: number;
  readonly gating: Gating;
  readonly groups: number;
  readonly openGroups: number;
  readonly normalize: boolean;
  readonly scale: number;
  /** Whether an expert is always taken. */
  readonly isShared: boolean;
}

/** Sizes of recurrent layers. */
export interface RecurrentConfig {
  /** Channels. */
  readonly innerLength: number;
  /** Taps of the convolution. */
  readonly taps: number;
  /** Channels that the convolution filters. */
  readonly filteredLength: number;
  /** Elements of the state of each channel; 0: a convolution is all that there is. */
  readonly stateLength: number;
  /** Heads that the channels are divided among. */
  readonly heads: number;
  /** Groups of heads that are steered alike. */
  readonly groups: number;
  /** Width of the vector that time steps are made of. */
  readonly timeStepRank: number;
  /** Whether what the scan is steered by is normalised, also where there are no weights for that. */
  readonly isNormed: boolean;
}
