import type { GenerateOptions, Prompt } from "@centella/llm";
import type { Call } from "../http/route.ts";
import { Reservation } from "./reservation.ts";

/** A prompt to count. */
export interface CountRequest {
  readonly model: string | undefined;
  readonly prompt: Prompt;
  readonly options: GenerateOptions;
}

/**
 * Number of tokens of a prompt as a generation would compute it, with what the chat template and tools add. Counting stops at four contexts.
 * @throws {ApiError}
 */
export async function countTokens(call: Call, { model: name, prompt, options }: CountRequest): Promise<number> {
  const reservation = await Reservation.open(call, name);
  const { lease, signal } = reservation;
  try {
    await reservation.permit({ tokens: 0, priority: 0 });
    // The first part comes before anything is computed.
    for await (const part of lease.model.createSession().generate(prompt, { ...options, signal, progress: true }))
      if (part.type === "prefill") return part.total;
    return 0;
  } catch (error) {
    const { code, promptTokens } = error as { readonly code?: unknown; readonly promptTokens?: unknown };
    if (code === "contextOverflow" && typeof promptTokens === "number") return promptTokens;
    throw reservation.failure(error);
  } finally {
    reservation.release();
  }
}
