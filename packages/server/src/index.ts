export { ApiError, type ApiErrorCode, type ApiErrorDetails } from "./errors.ts";
export type {
  ComputedEvent,
  DequeuedEvent,
  Events,
  FailureEvent,
  FinishedEvent,
  FinishKind,
  ModelEvent,
  PromptEvent,
  QueuedEvent,
  ReleasedEvent,
  RequestOrigin,
  ResponseEvent,
  ServerEvent,
} from "./events.ts";
export { type CloseOptions, type Connection, createHandler, type Handler } from "./handler.ts";
export type { AnswerDefaults, HandlerOptions } from "./handlerOptions.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { MetricsSource, ModelUsage } from "./metricsSource.ts";
export type { Engine, EngineSession } from "./models/engine.ts";
export { type GroupedEngine, type GroupParts, groupEngines } from "./models/engineGroup.ts";
export type { LoadContext, ModelLoader } from "./models/modelEntry.ts";
export type { ModelLibrary, PullContext } from "./models/modelLibrary.ts";
export type { ServedModel } from "./models/modelStore.ts";
export type { ApiKey } from "./security/keys.ts";
export type { SlotStore } from "./slotStore.ts";
