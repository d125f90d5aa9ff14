/**
 * URL of the embedded model: Fable, 21 M parameters, Q4_K_M, 13 MB. In Node it is a `file:` URL that `loadModel` accepts unchanged.
 * Bundlers see the pattern and copy the file, so that a browser can fetch it.
 */
export const fable: URL = new URL("../models/fable-q4_k_m.gguf", import.meta.url);

/** The kind of prompt that Fable was trained for. Its topic can be anything that a tale may be about. */
export const fablePrompt: string = "Tell me a story about a little fox who wanted to see the sea.";
