/** The embedded test model in a page. */
export const tiny: Uint8Array = new Uint8Array(await (await fetch("/model.gguf")).arrayBuffer());
