// Answers a question from the texts of a folder: node main.ts QUESTION [--chat MODEL] [--embed MODEL] [--rerank MODEL] [--documents FOLDER]
import { parseArgs } from "node:util";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { CentellaEmbeddings, CentellaRerank, ChatCentella } from "@centella/langchain";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { DocumentIndex } from "./documentIndex.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { chat: { type: "string" }, embed: { type: "string" }, rerank: { type: "string" }, documents: { type: "string" } },
});
const question = positionals[0] ?? "When do foxes hunt?";

const runtime = await createRuntime({ backends: [wasm()] });
const chat = await loadModel(values.chat ?? fable, { runtime });
const embedder = values.embed === undefined ? chat : await loadModel(values.embed, { runtime });

// Embeddings find candidates in many paragraphs, and a reranker reads each of them together with the question.
const index = new DocumentIndex(new CentellaEmbeddings({ model: embedder }));
await index.addFolder(values.documents ?? "documents");
let found = await index.search(question, values.rerank === undefined ? 2 : 5);
if (values.rerank !== undefined) {
  const reranker = new CentellaRerank({ model: await loadModel(values.rerank, { runtime }), topN: 2 });
  found = await reranker.compressDocuments(found, question);
}
for (const { metadata, pageContent } of found) console.log(`${metadata.source}: ${pageContent}`);

const prompt = ChatPromptTemplate.fromTemplate("Answer the question from these texts.\n\n{texts}\n\nQuestion: {question}");
const answer = prompt.pipe(new ChatCentella({ model: chat, temperature: 0, maxTokens: 100 })).pipe(new StringOutputParser());
console.log();
for await (const text of await answer.stream({ texts: found.map(({ pageContent }) => pageContent).join("\n"), question }))
  process.stdout.write(text);
console.log();
await runtime.dispose();
