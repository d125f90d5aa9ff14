import { createRuntime } from "@centella/core";
import { serveModels } from "@centella/llm/worker/serve";
import { backendsNamed } from "./backends.ts";

// The worker's name says which backends it opens.
serveModels(async () => createRuntime({ backends: await backendsNamed(self.name) }));
