import type { FurtherInputs } from "./runInputs.ts";

/** Sizes of {@link encodedInputs}. */
export interface EncodedSizes {
  /** Elements of a state. */
  readonly width: number;
  readonly contextLength: number;
}

const nothing = new Float32Array(0);

/**
 * Inputs of a decoder: the states of the prompts of a run's sequences, `encoded [nEncoded, width]`, the rows of each sequence's,
 * `encodedRows [nSeq, contextLength]`, and their numbers `encodedLengths [nSeq]`.
 */
export function encodedInputs({ width, contextLength }: EncodedSizes): FurtherInputs {
  return (slices) => {
    const prompts = slices.map(({ request }) => request.sequence.encoded ?? nothing);
    const nEncoded = prompts.reduce((sum, { length }) => sum + length, 0) / width;
    const data = {
      encoded: new Float32Array(nEncoded * width),
      encodedRows: new Int32Array(slices.length * contextLength),
      encodedLengths: Int32Array.from(prompts, ({ length }) => length / width),
    };
    let row = 0;
    for (const [i, states] of prompts.entries()) {
      data.encoded.set(states, row * width);
      for (let j = 0; j < states.length / width; j++) data.encodedRows[i * contextLength + j] = row++;
    }
    return { data, dims: { nEncoded } };
  };
}
