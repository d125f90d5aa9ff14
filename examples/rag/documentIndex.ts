import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Document } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";

/** Paragraphs of the text files of a folder, found by the similarity of their embeddings. */
export class DocumentIndex {
  readonly #embeddings: EmbeddingsInterface;
  #entries: readonly { readonly document: Document; readonly vector: readonly number[] }[] = [];

  constructor(embeddings: EmbeddingsInterface) {
    this.#embeddings = embeddings;
  }

  async addFolder(folder: string): Promise<void> {
    const names = (await readdir(folder)).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    const documents = texts.flatMap((text, i) =>
      text.split("\n\n").map((paragraph) => new Document({ pageContent: paragraph.trim(), metadata: { source: names[i] } })),
    );
    const vectors = await this.#embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    this.#entries = [...this.#entries, ...documents.map((document, i) => ({ document, vector: vectors[i]! }))];
  }

  /** The `count` paragraphs that are most similar to a query. Vectors have length 1, so that their dot product is the cosine. */
  async search(query: string, count: number): Promise<Document[]> {
    const wanted = await this.#embeddings.embedQuery(query);
    const scored = this.#entries.map(({ document, vector }) => ({
      document,
      score: vector.reduce((sum, x, i) => sum + x * wanted[i]!, 0),
    }));
    return scored
      .sort((a, b) => b.score - a.score)
      .slice(0, count)
      .map(({ document }) => document);
  }
}
