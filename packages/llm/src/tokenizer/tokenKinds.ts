/** Bits of a token's kind. By llama.cpp's rules a token can have several, e.g. a normal token whose text ends turns. */
export const normal = 1;
export const unknown = 2;
export const control = 4;
export const userDefined = 8;
export const unused = 16;
export const byte = 32;
/** Markup of conversations, according to the file or the token's text. It is always matched, like a user-defined token. */
export const structural = 64;

/** Bits by the number in `tokenizer.ggml.token_type` (`llama_token_type` of llama.h); other numbers mean none. */
export const kindOfType: readonly number[] = [0, normal, unknown, control, userDefined, unused, byte];

const endOfTurnTexts = [
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<end_of_turn>",
  "<|endoftext|>",
  "<|end_of_text|>",
  "<EOT>",
  "_<EOT>",
  "[EOT]",
  "<｜end▁of▁sentence｜>",
  "<end_of_utterance>",
];
const endOfMessageText = "<|eom_id|>";
const endOfGenerationTexts = [
  ...endOfTurnTexts,
  endOfMessageText,
  "<|return|>",
  "<|call|>",
  "<|flush|>",
  "<|calls|>",
  "</s>",
  "[EOS]",
  "<eos>",
  "<turn|>",
  "<|tool_response>",
  "[e~[",
];
const fimPadTexts = ["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"];
const fimRepositoryTexts = ["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"];
const fimFileTexts = ["<|file_sep|>"];
const fimOtherTexts = [
  ["<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"],
  ["<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"],
  ["<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"],
];
/** Markup of OpenAI's Harmony format, which llama.cpp always parses and shows. */
const harmonyTexts = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/** Roles of a vocabulary's special tokens. */
export interface SpecialRoles {
  readonly eotId: number | undefined;
  readonly eomId: number | undefined;
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly fillInMiddle: FillInMiddleIds;
}

/** Tokens that mark the parts of a text with a gap, for models that were trained to fill it. */
export interface FillInMiddleIds {
  /** Precedes the text before the gap. */
  readonly prefixId: number | undefined;
  /** Precedes the text after the gap. */
  readonly suffixId: number | undefined;
  /** Precedes the text that fills the gap. */
  readonly middleId: number | undefined;
  /** Precedes the name of a repository, and then its files. */
  readonly repositoryId: number | undefined;
  /** Precedes the name of a file, and then its text. */
  readonly fileId: number | undefined;
}

/** Ids that the metadata names. */
export interface NamedIds {
  readonly eosId: number | undefined;
  readonly eotId: number | undefined;
  readonly eomId: number | undefined;
  readonly fimPrefixId: number | undefined;
  readonly fimSuffixId: number | undefined;
  readonly fimMiddleId: number | undefined;
  readonly fimPadId: number | undefined;
  readonly fimRepositoryId: number | undefined;
  readonly fimFileId: number | undefined;
}

/**
 * Completes the kinds of special tokens (in place) and lists the ids that end a generation. Files often lack both. Like llama.cpp's
 * `llama_vocab::load`, this function goes by well-known texts of tokens.
 */
export function completeKinds(kinds: Uint8Array, tokenId: (text: string) => number | undefined, named: NamedIds): SpecialRoles {
  const addControl = (id: number): void => {
    kinds[id]! |= control;
  };
  /** The id that the metadata names, or else the first of the texts that is a token, which then counts as a control token. */
  const find = (id: number | undefined, texts: readonly string[]): number | undefined => {
    if (id !== undefined) return id;
    const found = texts.map(tokenId).find((candidate) => candidate !== undefined);
    if (found !== undefined) addControl(found);
    return found;
  };
  const eotId = find(named.eotId, endOfTurnTexts);
  const eomId = find(named.eomId, [endOfMessageText]);
  const [prefixId, suffixId, middleId] = fimOtherTexts.map((texts, i) =>
    find([named.fimPrefixId, named.fimSuffixId, named.fimMiddleId][i], texts),
  );

  const ends = new Set<number>();
  const addEnd = (id: number | undefined): void => {
    if (id !== undefined) ends.add(id);
  };
  addEnd(find(named.fimPadId, fimPadTexts));
  const [repositoryId, fileId] = [find(named.fimRepositoryId, fimRepositoryTexts), find(named.fimFileId, fimFileTexts)];
  addEnd(repositoryId);
  addEnd(fileId);
  for (const text of endOfGenerationTexts) {
    const id = tokenId(text);
    if (id === undefined) continue;
    addControl(id);
    ends.add(id);
  }
  for (const text of harmonyTexts) {
    const id = tokenId(text);
    if (id !== undefined) kinds[id] = userDefined | structural;
  }
  addEnd(named.eosId);
  addEnd(eotId);
  addEnd(eomId);

  // Where a vocabulary has separate tokens for the end of a whole answer, `<|end|>` only ends one of its messages.
  const endsWith = (text: string): boolean => ends.has(tokenId(text) ?? -1);
  const calls = endsWith("<|call|>") || endsWith("<|calls|>");
  const removeEnd = (text: string, kind: number): void => {
    const id = tokenId(text);
    if (id === undefined || !ends.delete(id)) return;
    kinds[id] = kind;
  };
  if (calls && (endsWith("<|return|>") || endsWith("<|flush|>"))) removeEnd("<|end|>", userDefined | structural);
  if (endsWith("<|tool_response>")) removeEnd("</s>", normal);
  return { eotId, eomId, endOfGenerationIds: ends, fillInMiddle: { prefixId, suffixId, middleId, repositoryId, fileId } };
}
