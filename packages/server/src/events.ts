import type { Prompt, Timings, Usage } from "@centella/llm";
import type { ApiErrorCode } from "./errors.ts";

/**
 * Why a text ended. "cancelled": its client left. "refused": its request cannot be answered, such as one whose prompt is too long. "error": the
 * server failed.
 */
export type FinishKind = "stop" | "length" | "tool_calls" | "cancelled" | "refused" | "error";

/** The request that an event belongs to. */
export interface RequestOrigin {
  readonly requestId: string;
  /** W3C trace context of the request, if it has one. */
  readonly traceparent?: string | undefined;
}

/** The status of a response is known. The body of a stream follows. */
export interface ResponseEvent extends RequestOrigin {
  readonly type: "response";
  readonly method: string;
  /** First path of the route, such as `/v1/models/{id}`, or "unknown". */
  readonly route: string;
  /** Name of the model. Absent if the request used none, or was refused before that. */
  readonly model: string | undefined;
  readonly status: number;
  /** What was refused or failed, of statuses from 400. */
  readonly error: ApiErrorCode | undefined;
  /** Name of the API key, if keys are checked. */
  readonly key: string | undefined;
  readonly durationMs: number;
}

/** A text is about to be generated. Only if the handler was created with `emitsPrompts`. */
export interface PromptEvent {
  readonly type: "prompt";
  readonly requestId: string;
  readonly model: string;
  readonly prompt: Prompt;
}

/** A generation, embedding or ranking entered the queue of its model. */
export interface QueuedEvent extends RequestOrigin {
  readonly type: "queued";
  readonly model: string;
}

/** A generation, embedding or ranking left the queue: it runs, or it gave up waiting. */
export interface DequeuedEvent extends RequestOrigin {
  readonly type: "dequeued";
  readonly model: string;
  readonly queueMs: number;
  readonly isAdmitted: boolean;
}

/** A generation, embedding or ranking has ended, and its sequence is free. */
export interface ReleasedEvent extends RequestOrigin {
  readonly type: "released";
  readonly model: string;
}

/** A text has ended. */
export interface FinishedEvent extends RequestOrigin {
  readonly type: "finished";
  readonly route: string;
  readonly model: string;
  readonly finish: FinishKind;
  readonly queueMs: number;
  readonly durationMs: number;
  /** Absent for a text that was refused or cancelled, or that failed, before its end. */
  readonly usage?: Usage | undefined;
  readonly timings?: Timings | undefined;
}

/** Vectors or a ranking were computed, or could not be. */
export interface ComputedEvent extends RequestOrigin {
  readonly type: "computed";
  readonly operation: "embeddings" | "rerank";
  readonly route: string;
  readonly model: string;
  /** Includes the time in the queue. */
  readonly durationMs: number;
  /** Tokens of all texts. Absent if nothing was computed. */
  readonly tokens?: number | undefined;
}

/** A model is offered by the server, was loaded, unloaded, or could not be loaded. With the request that needs it or that found it lost. */
export interface ModelEvent extends Partial<RequestOrigin> {
  readonly type: "model";
  readonly name: string;
  readonly state: "offered" | "loading" | "loaded" | "unloaded" | "failed";
  readonly error?: unknown;
  /** Name of the model that this one adapts, when a LoRA adapter is offered. */
  readonly parent?: string | undefined;
}

/** The server failed in a way that clients are not told. */
export interface FailureEvent {
  readonly type: "failure";
  readonly requestId: string;
  readonly error: unknown;
}

/** What happens in a server, for metrics, logs and traces. No event has an answer, and only a {@link PromptEvent} has a prompt. */
export type ServerEvent =
  | ResponseEvent
  | QueuedEvent
  | DequeuedEvent
  | ReleasedEvent
  | PromptEvent
  | FinishedEvent
  | ComputedEvent
  | ModelEvent
  | FailureEvent;

/** Listeners of a server's events. */
export class Events {
  readonly #listeners = new Set<(event: ServerEvent) => void>();

  /** Calls `listener` with every later event. Returns a function that ends this. */
  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
