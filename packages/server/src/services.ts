import type { Pooling } from "@centella/llm";
import type { CallerLoad } from "./admission/callerLoad.ts";
import type { Events } from "./events.ts";
import type { OpenRequests } from "./generation/openRequests.ts";
import type { AnswerDefaults } from "./handlerOptions.ts";
import type { Limits } from "./limits.ts";
import type { MetricsSource } from "./metricsSource.ts";
import type { ModelStore } from "./models/modelStore.ts";
import type { SlotStore } from "./slotStore.ts";

/** What routes share. */
export interface Services {
  readonly models: ModelStore;
  readonly events: Events;
  readonly limits: Limits;
  readonly callers: CallerLoad;
  readonly open: OpenRequests;
  readonly defaults: AnswerDefaults;
  /** Whether there are events with prompts. */
  readonly emitsPrompts: boolean;
  readonly pooling: Pooling | undefined;
  readonly metrics: MetricsSource | undefined;
  readonly slotStore: SlotStore | undefined;
  /** Whether the server shuts down. */
  isDraining: boolean;
}
