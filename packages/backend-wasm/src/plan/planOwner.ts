import type { Backend } from "@centella/core";
import type { FusionLimits, PlanOwner } from "@centella/core/backend";
import type { PlanLinker } from "../linking/planLinker.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { WasmPersistentBuffer } from "../memory/persistentBuffer.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import type { EventLoopYield } from "./eventLoopYield.ts";

/** The part of the WASM backend that its plans use and account to. */
export interface WasmPlanOwner extends PlanOwner<WasmPersistentBuffer> {
  readonly fusion: FusionLimits;
  readonly target: Target;
  readonly pool: ThreadPool | undefined;
  readonly checkWrites: boolean;
  readonly eventLoop: EventLoopYield;
  unsupported: Backend["unsupported"];
  /** A module for the functions that are emitted for one plan. */
  planLinker(instance: MemoryInstance): PlanLinker;
  /** Ends a plan's use of a memory. */
  leave(instance: MemoryInstance): void;
}
