import { ApiError } from "../errors.ts";
import type { Call } from "../http/route.ts";
import { computed } from "./computation.ts";

/** Texts whose vectors are wanted. */
export interface EmbeddingRequest {
  readonly model: string | undefined;
  readonly inputs: readonly (string | readonly number[])[];
  /** Elements of each vector. Default: all. */
  readonly dimensions?: number | undefined;
  readonly priority?: number | undefined;
}

/** Vectors of texts. */
export interface Embeddings {
  /** Name of the model. */
  readonly name: string;
  /** Scaled to length 1. */
  readonly vectors: readonly Float32Array[];
  /** Number of tokens of all texts. */
  readonly tokens: number;
}

/** Computes vectors. @throws {ApiError} */
export function embeddingsOf(call: Call, { model: given, inputs, dimensions, priority = 0 }: EmbeddingRequest): Promise<Embeddings> {
  return computed(call, given, "embeddings", async (reservation) => {
    const { lease, signal } = reservation;
    const { model, name, adapters } = lease;
    checkDimensions(dimensions, model.info.embeddingLength);
    const texts = await Promise.all(
      inputs.map(async (input) => (typeof input === "string" ? model.tokenizer.encodeAsync(input, { signal }) : input)),
    );
    const tokens = texts.reduce((sum, { length }) => sum + length, 0);
    await reservation.permit({ tokens, priority });
    const vectors = await model.embed(
      texts.map((ids) => ({ ids })),
      { dimensions, adapters, signal, pooling: call.services.pooling },
    );
    return { name, tokens, vectors };
  });
}

/** @throws {ApiError} 400 for more elements than a vector has */
function checkDimensions(dimensions: number | undefined, most: number): void {
  if (dimensions === undefined || dimensions <= most) return;
  throw new ApiError(400, "invalid_value", `dimensions: expected at most ${most}, got ${dimensions}`, { param: "dimensions" });
}
