import type { Backend, Plan } from "@centella/core";
import type { Counters, FusionLimits } from "@centella/core/backend";
import type { Target } from "../linking/target.ts";
import type { Home } from "../memory/home.ts";
import type { ThreadPool } from "../threads/pool.ts";
import type { Turns } from "./eventLoop.ts";
import type { PlanModule } from "./planModule.ts";

/** The part of a backend that its plans use and account to. */
export interface PlanOwner {
  readonly name: string;
  readonly fusion: FusionLimits;
  readonly target: Target;
  readonly pool: ThreadPool | undefined;
  readonly checkWrites: boolean;
  readonly turns: Turns;
  readonly counters: Counters;
  readonly plans: Pick<Set<Plan>, "delete">;
  /** Whether work is queued or under way. */
  readonly isBusy: boolean;
  unsupported: Backend["unsupported"];
  /** A module for the functions that are emitted for one plan. */
  planModule(home: Home): PlanModule;
  /** Runs work after all work that was queued before. */
  enqueue<T>(work: () => T | Promise<T>): Promise<T>;
  /** Ends a plan's use of a memory. */
  leave(home: Home): void;
  /** @throws {DisposedError} */
  requireAlive(): void;
}
