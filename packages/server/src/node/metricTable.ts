/** Whose names metrics have. */
export type MetricNames = "centella" | "vllm" | "llamacpp";

/** A metric under the names of each. Metrics of vLLM call the label `model` `model_name`, and those of llama.cpp have no labels. */
export interface MetricRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** What a histogram counts. Default: seconds. */
  readonly unit?: "seconds" | "tokens";
  /** Several names of one program are those of its versions. */
  readonly names: Partial<Readonly<Record<MetricNames, string | readonly string[]>>>;
}

const model = ["model"];

/** Every metric. Times are in seconds. */
export const metricTable = {
  running: {
    kind: "gauge",
    help: "Requests that compute",
    labels: model,
    names: { centella: "centella:requests_running", vllm: "vllm:num_requests_running", llamacpp: "llamacpp:requests_processing" },
  },
  waiting: {
    kind: "gauge",
    help: "Requests in the queue",
    labels: model,
    names: { centella: "centella:requests_waiting", vllm: "vllm:num_requests_waiting", llamacpp: "llamacpp:requests_deferred" },
  },
  responses: {
    kind: "counter",
    help: "Responses by model, route and status; without a model, if the request uses none or was refused before",
    labels: ["model", "route", "status"],
    names: { centella: "centella:responses_total" },
  },
  rejected: {
    kind: "counter",
    help: "Requests that were refused, by the reason",
    labels: ["reason"],
    names: { centella: "centella:requests_rejected_total" },
  },
  texts: {
    kind: "counter",
    help: "Texts that have ended, by the reason",
    labels: ["model", "route", "finish"],
    names: { centella: "centella:texts_total" },
  },
  success: {
    kind: "counter",
    help: "Texts that were neither cancelled nor refused and did not fail",
    labels: ["model", "finished_reason"],
    names: { vllm: "vllm:request_success_total" },
  },
  cancelled: {
    kind: "counter",
    help: "Texts whose client left",
    labels: model,
    names: { centella: "centella:texts_cancelled_total" },
  },
  promptTokens: {
    kind: "counter",
    help: "Tokens of prompts",
    labels: model,
    names: { centella: "centella:prompt_tokens_total", vllm: "vllm:prompt_tokens_total" },
  },
  computedTokens: {
    kind: "counter",
    help: "Tokens of prompts that were computed",
    labels: model,
    names: { centella: "centella:computed_tokens_total", llamacpp: "llamacpp:prompt_tokens_total" },
  },
  cachedTokens: {
    kind: "counter",
    help: "Tokens of prompts that were in the cache",
    labels: model,
    names: { centella: "centella:cached_tokens_total", vllm: "vllm:prefix_cache_hits_total" },
  },
  queriedTokens: {
    kind: "counter",
    help: "Tokens of prompts that were looked up in the cache",
    labels: model,
    names: { vllm: "vllm:prefix_cache_queries_total" },
  },
  generatedTokens: {
    kind: "counter",
    help: "Tokens of answers",
    labels: model,
    names: {
      centella: "centella:generated_tokens_total",
      vllm: "vllm:generation_tokens_total",
      llamacpp: "llamacpp:tokens_predicted_total",
    },
  },
  draftedTokens: {
    kind: "counter",
    help: "Tokens that were drafted",
    labels: model,
    names: { centella: "centella:drafted_tokens_total", vllm: "vllm:spec_decode_num_draft_tokens_total" },
  },
  acceptedTokens: {
    kind: "counter",
    help: "Drafted tokens that were accepted",
    labels: model,
    names: { centella: "centella:accepted_tokens_total", vllm: "vllm:spec_decode_num_accepted_tokens_total" },
  },
  promptTime: {
    kind: "counter",
    help: "Time of computing prompts",
    labels: model,
    names: { centella: "centella:prompt_seconds_total", llamacpp: "llamacpp:prompt_seconds_total" },
  },
  generationTime: {
    kind: "counter",
    help: "Time of computing answers",
    labels: model,
    names: { centella: "centella:generation_seconds_total", llamacpp: "llamacpp:tokens_predicted_seconds_total" },
  },
  promptRate: {
    kind: "gauge",
    help: "Tokens of prompts computed per second of computing, since the last time that metrics were read",
    labels: [],
    names: { llamacpp: "llamacpp:prompt_tokens_seconds" },
  },
  generationRate: {
    kind: "gauge",
    help: "Tokens of answers per second of computing, since the last time that metrics were read",
    labels: [],
    names: { llamacpp: "llamacpp:predicted_tokens_seconds" },
  },
  textPromptTokens: {
    kind: "histogram",
    help: "Tokens of each prompt",
    labels: model,
    unit: "tokens",
    names: { vllm: "vllm:request_prompt_tokens" },
  },
  textGeneratedTokens: {
    kind: "histogram",
    help: "Tokens of each answer",
    labels: model,
    unit: "tokens",
    names: { vllm: "vllm:request_generation_tokens" },
  },
  textPromptTime: {
    kind: "histogram",
    help: "Time of computing each prompt",
    labels: model,
    names: { vllm: "vllm:request_prefill_time_seconds" },
  },
  textGenerationTime: {
    kind: "histogram",
    help: "Time of computing each answer",
    labels: model,
    names: { vllm: "vllm:request_decode_time_seconds" },
  },
  queueTime: {
    kind: "histogram",
    help: "Time in the queue",
    labels: model,
    names: { centella: "centella:queue_seconds", vllm: "vllm:request_queue_time_seconds" },
  },
  firstTokenTime: {
    kind: "histogram",
    help: "Time to the first token",
    labels: model,
    names: { centella: "centella:time_to_first_token_seconds", vllm: "vllm:time_to_first_token_seconds" },
  },
  tokenTime: {
    kind: "histogram",
    help: "Time of each further token, the mean of a text",
    labels: model,
    names: {
      centella: "centella:time_per_output_token_seconds",
      vllm: ["vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds"],
    },
  },
  duration: {
    kind: "histogram",
    help: "Time from the request to the end of the text",
    labels: model,
    names: { centella: "centella:text_seconds", vllm: "vllm:e2e_request_latency_seconds" },
  },
  cacheUsage: {
    kind: "gauge",
    help: "Share of the KV cache that texts in progress use, from 0 to 1",
    labels: model,
    names: { centella: "centella:kv_cache_usage", vllm: "vllm:kv_cache_usage_perc" },
  },
  cacheConfig: {
    kind: "gauge",
    help: "Blocks of the KV cache: tokens of a block, and their number",
    labels: ["model", "block_size", "num_gpu_blocks"],
    names: { centella: "centella:cache_config_info", vllm: "vllm:cache_config_info" },
  },
  adapters: {
    kind: "gauge",
    help: "LoRA adapters with requests that compute and wait, and how many there are; the value is the time",
    labels: ["max_lora", "running_lora_adapters", "waiting_lora_adapters"],
    names: { centella: "centella:lora_requests_info", vllm: "vllm:lora_requests_info" },
  },
  models: {
    kind: "gauge",
    help: "Loaded models",
    labels: [],
    names: { centella: "centella:models_loaded" },
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
