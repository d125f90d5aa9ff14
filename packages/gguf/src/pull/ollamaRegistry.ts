import { GgufError } from "../errors.ts";
import { shownUrl } from "../http/secrets.ts";
import { shownPath } from "../shown.ts";
import { digestOf, fetchJson, fileSize, type RemoteFile } from "./hub.ts";
import type { HubRequest } from "./hubRequest.ts";
import { nameOfHubFile } from "./names.ts";

/** Ollama's registry. */
export const ollamaEndpoint = "https://registry.ollama.ai";

/** `ollama:[namespace/]name[:tag]`. */
const referencePattern = /^ollama:(?:(\w[\w.-]*)\/)?(\w[\w.-]*)(?::(\w[\w.-]*))?$/;

/** Media type of the layer that is the model, in manifests of images in OCI's format. */
const modelLayer = "application/vnd.ollama.image.model";

/**
 * Returns the file of a model in Ollama's registry: the layer of its manifest that is the model. Templates and parameters of other layers are
 * left out, because the file has its own.
 * @throws {GgufError} `range` for a malformed reference, `missing` for a manifest without a model
 */
export async function resolveOllamaReference(reference: string, { endpoint, httpFor, signal }: HubRequest): Promise<readonly RemoteFile[]> {
  const [, namespace = "library", name, tag = "latest"] = referencePattern.exec(reference) ?? [];
  if (name === undefined) throw new GgufError("range", { expected: "ollama:NAME or ollama:NAME:TAG", got: `'${shownPath(reference)}'` });
  const base = `v2/${namespace}/${name}`;
  const manifest = new URL(`${base}/manifests/${tag}`, endpoint);
  const { body } = await fetchJson(manifest, httpFor(manifest), signal);
  const layer = layersOf(body).find(({ mediaType }) => mediaType === modelLayer);
  const sha256 = digestOf(layer?.digest);
  if (sha256 === undefined) {
    throw new GgufError("missing", { expected: `a model in ${shownUrl(manifest)}`, got: "a manifest without one" });
  }
  const repo = namespace === "library" ? `ollama/${name}` : `ollama/${namespace}/${name}`;
  const url = new URL(`${base}/blobs/sha256:${sha256}`, endpoint);
  return [{ name: nameOfHubFile(repo, "main", `${tag}.gguf`), url, size: fileSize(layer?.size), sha256 }];
}

interface Layer {
  readonly mediaType?: unknown;
  readonly digest?: unknown;
  readonly size?: unknown;
}

function layersOf(manifest: unknown): readonly Layer[] {
  const { layers } = (typeof manifest === "object" && manifest !== null ? manifest : {}) as { readonly layers?: unknown };
  return Array.isArray(layers) ? layers.filter((layer): layer is Layer => typeof layer === "object" && layer !== null) : [];
}
