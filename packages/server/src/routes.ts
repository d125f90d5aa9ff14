import { countMessageTokens, createMessage } from "./anthropic/createMessage.ts";
import { openapiRoute } from "./http/openapi.ts";
import type { Route } from "./http/route.ts";
import { applyTemplate } from "./llamaServer/applyTemplate.ts";
import { completion, infill } from "./llamaServer/completion.ts";
import { embedding } from "./llamaServer/embedding.ts";
import { health } from "./llamaServer/health.ts";
import { loadRoute, unloadRoute } from "./llamaServer/loading.ts";
import { loraAdapters, setLoraAdapters } from "./llamaServer/loraAdapters.ts";
import { metrics } from "./llamaServer/metrics.ts";
import { props } from "./llamaServer/props.ts";
import { rerank } from "./llamaServer/rerank.ts";
import { slotAction, slots } from "./llamaServer/slots.ts";
import { detokenize, tokenize } from "./llamaServer/tokens.ts";
import { embed, embeddings as oldEmbeddings } from "./ollama/embed.ts";
import * as ollama from "./ollama/generate.ts";
import { copy, pull, remove } from "./ollama/library.ts";
import { ps, show, tags, version } from "./ollama/models.ts";
import { chat, chatInputTokens } from "./openai/chat.ts";
import { completions } from "./openai/completions.ts";
import { embeddings } from "./openai/embeddings.ts";
import { model, models } from "./openai/models.ts";
import { responseInputTokens, responses } from "./openai/responses/responses.ts";

/** Every route of a server. */
export const routes: readonly Route[] = [
  ...[chat, chatInputTokens, responses, responseInputTokens, completions, embeddings, models, model],
  ...[createMessage, countMessageTokens],
  ...[ollama.chat, ollama.generate, embed, oldEmbeddings, tags, ps, version, show, pull, remove, copy],
  ...[completion, infill, embedding, rerank, loadRoute, unloadRoute, loraAdapters, setLoraAdapters],
  ...[health, metrics, props, slots, slotAction, tokenize, detokenize, applyTemplate],
  openapiRoute(() => routes),
];
