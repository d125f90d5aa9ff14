import { type EngineModel, loadedModel } from "@centella/llm/engine";
import { check, checkOptions, whole } from "@centella/quant/checks";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";

/** Fields of a {@link CentellaRerank}. */
export interface CentellaRerankFields {
  /** A reranker that is loaded, in this thread or in a worker. */
  readonly model: EngineModel;
  /** Most documents to keep. Default: all, in another order. */
  readonly topN?: number | undefined;
}

/** Keeps the documents that answer a query best. Each has the model's score as `metadata.relevanceScore`. */
export class CentellaRerank extends BaseDocumentCompressor {
  readonly #model: EngineModel;
  readonly #topN: number | undefined;

  /** @throws {ArgumentError} for an unknown field, and without a loaded reranker */
  constructor(fields: CentellaRerankFields) {
    const { model, topN } = checkOptions("CentellaRerank", fields, { model: loadedModel, topN: whole(1) });
    check("CentellaRerank", "model", model, loadedModel, "load it with loadModel");
    super();
    this.#model = model;
    this.#topN = topN;
  }

  override async compressDocuments(documents: DocumentInterface[], query: string, _callbacks?: Callbacks): Promise<DocumentInterface[]> {
    if (documents.length === 0) return [];
    const texts = documents.map(({ pageContent }) => pageContent);
    const { results } = await this.#model.rerank(query, texts, { topN: this.#topN });
    return results.map(({ index, score }) => {
      const { pageContent, metadata, id } = documents[index]!;
      return new Document({ pageContent, metadata: { ...metadata, relevanceScore: score }, ...(id !== undefined && { id }) });
    });
  }
}
