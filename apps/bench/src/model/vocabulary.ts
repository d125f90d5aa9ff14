/** A byte-level BPE vocabulary that can encode any text. */
export interface Vocabulary {
  readonly tokens: readonly string[];
  /** As `tokenizer.ggml.token_type`: 1 normal, 3 control, 5 unused. */
  readonly types: readonly number[];
  /** `left right`, best first. */
  readonly merges: readonly string[];
  readonly bos: number;
  readonly eos: number;
}

const controls = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] as const;
const letters = "etaoinshrdlcumwfgypbvkjxqz";
/** Letter that byte-level tokenizers write for a space. */
const space = "Ġ";

/** Chat template of the generated files: ChatML. */
export const chatTemplate =
  "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/**
 * `size` tokens: the 256 bytes, then pieces of two, three and four letters (the first may be a space) that merges build letter by
 * letter, common letters first, then control tokens. Real vocabularies are trained; for speed only their size matters.
 */
export function makeVocabulary(size: number): Vocabulary {
  const tokens = byteTokens();
  const merges: string[] = [];
  let previous = [space, ...letters];
  while (tokens.length < size - controls.length) {
    const longer: string[] = [];
    for (const left of previous) {
      for (const right of letters) {
        if (tokens.length >= size - controls.length) break;
        merges.push(`${left} ${right}`);
        tokens.push(left + right);
        longer.push(left + right);
      }
    }
    previous = longer;
  }
  const first = tokens.length;
  const types = tokens.map(() => 1);
  tokens.push(...controls);
  types.push(...controls.map(() => 3));
  return { tokens, types, merges, bos: first, eos: first + 2 };
}

/** The 256 bytes as GPT-2's tokenizer writes them: printable bytes unchanged, the remaining ones as characters from U+0100 on. */
function byteTokens(): string[] {
  const isPrintable = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}
