import type { Answer } from "../generation/answer.ts";
import { fingerprintOf } from "../generation/fingerprint.ts";

/** Fields that every chunk of a response has. */
export interface CompletionHead {
  readonly id: string;
  readonly object: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint: string;
}

export function completionHead(prefix: "chatcmpl" | "cmpl", object: string, { lease }: Answer): CompletionHead {
  return {
    id: `${prefix}-${crypto.randomUUID()}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model: lease.name,
    system_fingerprint: fingerprintOf(lease),
  };
}
