/** Heads of classifiers and rerankers, which take no part in embeddings. */
export const classifierHeads: readonly string[] = ["cls.weight", "cls.bias", "cls.norm.weight", "cls.output.weight", "cls.output.bias"];
