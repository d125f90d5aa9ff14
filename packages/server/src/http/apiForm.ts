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
