import type { PeerAdapter } from "./peer.ts";
export const wllama: PeerAdapter = { name: "wllama", kind: "cpu", async open() { throw new Error("x"); } };
