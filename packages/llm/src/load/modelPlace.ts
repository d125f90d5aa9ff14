import type { Backend } from "@centella/core";
import type { LayerSplit } from "./layersOnGpu.ts";

/** Maximum number of prompt tokens per run, unless the whole model is on a GPU. */
export const defaultBatchSize = 512;

/** Where a model is computed, and the defaults that follow. */
export interface ModelPlace {
  /** The backend whose defaults the model has. Of split layers, those on the CPU take the most time, so it is the CPU's. */
  readonly backend: Backend;
  /** Undefined unless the layers are split over two backends. */
  readonly split: LayerSplit | undefined;
  readonly batchSize: number;
  /** Why the layers are where they are, if their number was chosen by the device's memory. */
  readonly reason?: string;
}

/** Memory that is kept free while a model is loaded. */
export interface ReservedMemory {
  /** Bytes by the length of the context. */
  readonly bytesFor: (contextLength: number) => number;
  /** Whether they are on the model's own devices. */
  readonly isShared: boolean;
}
