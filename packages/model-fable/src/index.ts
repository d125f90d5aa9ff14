/**
 * Where the embedded model lies: Fable, 21 M parameters, Q4_K_M, 13 MB. In Node a `file:` URL that `loadModel` takes as
 * it is; bundlers see the pattern and copy the file, so that in a browser it can be fetched.
 */
export const fable: URL = new URL("../models/fable-q4_k_m.gguf", import.meta.url);

/** The prompt that Fable was made for; its topic can be anything a tale may be about. */
export const fablePrompt: string = "Tell me a story about a little fox who wanted to see the sea.";

/** Sampling that suits Fable; its model card says why. */
export const fableSampling: { readonly temperature: number; readonly topK: number; readonly repeatPenalty: number } = {
  temperature: 0.7,
  topK: 40,
  repeatPenalty: 1.1,
};
