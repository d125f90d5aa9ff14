import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** BOS comes first exactly once if the model wants it. */
export function withBos(tokenizer: Tokenizer, ids: Int32Array): Int32Array {
  if (!tokenizer.addBos || ids[0] === tokenizer.bosId) return ids;
  const longer = new Int32Array(ids.length + 1);
  longer[0] = tokenizer.bosId!;
  longer.set(ids, 1);
  return longer;
}
