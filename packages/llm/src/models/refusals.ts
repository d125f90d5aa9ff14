const noText = "it neither generates nor embeds text";

/** Architectures of llama.cpp whose models cannot be loaded, each with the reason. Loaded where a model is refused. */
export const refusals: ReadonlyMap<string, string> = new Map(
  Object.entries({
    clip: noText,
    gptj: "llama.cpp itself has no code for it",
    pockettts: noText,
    qwen3tts: noText,
    "wavtokenizer-dec": noText,
  }),
);
