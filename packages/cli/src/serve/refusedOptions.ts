/** Groups of llama-server's options without a counterpart, and what to do instead. */
const groups: readonly (readonly [names: readonly string[], instead: string])[] = [
  [["--mmap", "--no-mmap", "--mlock", "--numa", "--no-host", "--direct-io"], "leave it out: weights are read, and memory is the system's"],
  [["--jinja", "--no-jinja"], "leave it out: chat templates are always used"],
  [["--chat-template", "--chat-template-file", "--skip-chat-parsing"], "leave it out: the file's chat template is used"],
  [["--cont-batching", "-cb", "--no-cont-batching", "-nocb"], "leave it out: requests are always batched"],
  [["--flash-attn", "-fa", "--swa-full", "--kv-unified", "-kvu", "--no-kv-offload", "-nkvo"], "leave it out: the backend chooses"],
  [["--warmup", "--no-warmup"], "leave it out: kernels are compiled while the model loads"],
  [
    ["--rope-scaling", "--rope-scale", "--rope-freq-base", "--rope-freq-scale", "--yarn-orig-ctx"],
    "leave it out: the file's values are used",
  ],
  [["--cache-type-k", "-ctk", "--cache-type-v", "-ctv"], "keys and values have one type: use --cache-type"],
  [["--cache-reuse", "--cache-ram", "-cram", "--cache-prompt", "--no-cache-prompt"], "leave it out: texts always share beginnings"],
  [["--ubatch-size", "-ub"], "use --batch"],
  [["--threads-batch", "-tb"], "use --threads"],
  [["--threads-http"], "leave it out: one thread answers requests"],
  [["--device", "-dev", "--main-gpu", "-mg", "--split-mode", "-sm", "--tensor-split", "-ts"], "use --devices"],
  [["--override-tensor", "-ot", "--cpu-moe", "-cmoe", "--n-cpu-moe", "-ncmoe"], "use --layers-on-gpu"],
  [["--lora-scaled"], "use --lora FILE:SCALE"],
  [["--lora-init-without-apply"], "use --lora NAME=FILE, and choose the adapter by the model's name"],
  [["--control-vector", "--control-vector-scaled"], "leave it out: control vectors are not supported"],
  [["--mmproj", "-mm", "--mmproj-url"], "leave it out: images and audio are not supported"],
  [["--hf-file", "-hff"], "name the file: hf:owner/repo/file.gguf"],
  [["--model-url", "-mu"], "give the URL as the model"],
  [["--grammar", "--grammar-file", "--json-schema", "-j", "--json-schema-file", "-jf"], "requests choose their format"],
  [["--reasoning-format", "--reasoning-budget", "--chat-template-kwargs"], "requests choose how the model reasons"],
  [["--context-shift", "--no-context-shift", "--keep"], "leave it out: a text ends where the context is full"],
  [["--props"], "leave it out: properties do not change"],
  [["--no-slots"], "leave it out: /slots is always there"],
  [["--webui", "--no-webui", "--path", "--api-prefix"], "leave it out: there are no pages; use a reverse proxy for prefixes"],
  [["--ssl-key-file", "--ssl-cert-file"], "use a reverse proxy for TLS"],
  [["--timeout", "-to"], "use --request-timeout"],
  [["--log-file", "--log-disable", "--log-verbosity", "-lv", "--log-prefix", "--log-timestamps"], "use --log"],
];

/** llama-server's options without a counterpart, by their spellings, and what to do instead. */
export const refusedOptions: Readonly<Record<string, string>> = Object.fromEntries(
  groups.flatMap(([names, instead]) => names.map((name) => [name, instead])),
);
