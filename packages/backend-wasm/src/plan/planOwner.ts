import type { Backend, Plan } from "@centella/core";
import type { Counters, FusionLimits } from "@centella/core/backend";
import type { PlanLinker } from "../linking/planLinker.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import type { EventLoopYield } from "./eventLoopYield.ts";

/** The part of a backend that its plans use and account to. */
export interface PlanOwner {
  readonly name: string;
  readonly fusion: FusionLimits;
  readonly target: Target;
  readonly pool: ThreadPool | undefined;
  readonly checkWrites: boolean;
  readonly eventLoop: EventLoopYield;
  readonly counters: Counters;
  readonly plans: Pick<Set<Plan>, "delete">;
  /** Whether work is queued or under way. */
  readonly isBusy: boolean;
  unsupported: Backend["unsupported"];
  /** A module for the functions that are emitted for one plan. */
  planLinker(instance: MemoryInstance): PlanLinker;
  /** Runs work after all work that was queued before. */
  enqueue<T>(work: () => T | Promise<T>): Promise<T>;
  /** Ends a plan's use of a memory. */
  leave(instance: MemoryInstance): void;
  /** @throws {DisposedError} */
  requireAlive(): void;
}
