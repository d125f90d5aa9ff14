import type { ApiError } from "../errors.ts";

/** How an API writes errors. */
export interface ApiForm {
  /** Body of a response with an error. */
  error(error: ApiError, requestId: string): object;
  /** Chunk of a stream that fails after its first byte. */
  errorChunk(error: ApiError, requestId: string): string;
}

/** A chunk of server-sent events. */
export function serverSentEvent(data: object, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Writes server-sent events that begin with the same fields. These become JSON once. */
export function eventsWith(head: object): (more: object) => string {
  const start = `data: ${JSON.stringify(head).slice(0, -1)},`;
  return (more) => `${start}${JSON.stringify(more).slice(1)}\n\n`;
}
