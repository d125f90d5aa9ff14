const hyperConnections = "connections of several states between layers are not computed";
const drafts = "it guesses tokens for another model, and generates no text by itself";
const noText = "it neither generates nor embeds text";

/** Architectures of llama.cpp whose models cannot be loaded, each with the reason. Loaded where a model is refused. */
export const refusals: ReadonlyMap<string, string> = new Map(
  Object.entries({
    chameleon: "ids of pictures among those of text are not told apart",
    clip: noText,
    deepseek4: hyperConnections,
    dflash: drafts,
    eagle3: drafts,
    "gemma4-assistant": drafts,
    gptj: "llama.cpp itself has no code for it",
    graniteswitch: "a layer that chooses adapters is not computed",
    hy_v4: hyperConnections,
    "kimi-k3": hyperConnections,
    pockettts: noText,
    qwen3tts: noText,
    qwen4exp: hyperConnections,
    "wavtokenizer-dec": noText,
  }),
);
