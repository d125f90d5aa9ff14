import type { Metadata } from "@centella/gguf";
import { describe } from "@centella/quant/checks";
import { ModelError } from "../../errors.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";

/** A model's vocabulary. */
export interface ModelVocabulary {
  readonly metadata: Metadata;
  readonly tokenizer: Tokenizer;
}

/** Most tokens that one vocabulary may have more than the other: some models of a family are padded to a round number. */
const maxSizeDifference = 128;
/** The first token whose text is compared. Models of one family may name the special tokens before it differently. */
const firstComparedId = 5;

const tokensKey = "tokenizer.ggml.tokens";

/**
 * Requires that a draft model's tokens are those of the model, by the rules of llama.cpp (`common/speculative.cpp`).
 * @throws {ModelError} naming the metadata key that differs
 */
export function requireSameVocabulary(model: ModelVocabulary, draft: ModelVocabulary): void {
  const [own, other] = [model.tokenizer, draft.tokenizer];
  requireSame("tokenizer.ggml.model", own.model, other.model);
  requireSame("tokenizer.ggml.add_bos_token", own.addBos, other.addBos);
  if (own.addBos) requireSame("tokenizer.ggml.bos_token_id", own.bosId, other.bosId);
  requireSame("tokenizer.ggml.add_eos_token", own.addEos, other.addEos);
  if (own.addEos) requireSame("tokenizer.ggml.eos_token_id", own.eosId, other.eosId);
  if (Math.abs(own.vocabSize - other.vocabSize) > maxSizeDifference) {
    throw differing(`${own.vocabSize} entries in ${tokensKey}, as in the model, give or take ${maxSizeDifference}`, other.vocabSize);
  }
  const texts = draft.metadata.optionalStrings(tokensKey);
  let id = 0;
  for (const text of model.metadata.optionalStrings(tokensKey) ?? []) {
    const otherText = texts?.at(id);
    if (id >= firstComparedId && otherText !== undefined) requireSame(`${tokensKey}[${id}]`, text, otherText);
    id++;
  }
}

function requireSame(key: string, expected: unknown, got: unknown): void {
  if (got !== expected) throw differing(`${describe(expected)} in ${key}, as in the model`, describe(got));
}

function differing(expected: string, got: unknown): ModelError {
  return new ModelError(`draft: expected ${expected}, got ${got}; use a draft model with the model's vocabulary`);
}
