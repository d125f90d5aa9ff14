export type { EngineModel } from "@centella/llm/engine";
export type { CentellaCallOptions, EngineOptions, ResponseFormat } from "./callOptions.ts";
export { CentellaEmbeddings, type CentellaEmbeddingsFields } from "./centellaEmbeddings.ts";
export { CentellaRerank, type CentellaRerankFields } from "./centellaRerank.ts";
export { ChatCentella, type ChatCentellaFields } from "./chatCentella.ts";
