import { estimateMemory, readGguf } from "@centella/gguf";

// Reads the header alone. A URL or hf:owner/repo:Q4_K_M is read by ranges, before anything is downloaded.
const file = await readGguf("model.gguf");
for (const cacheType of ["f16", "q8_0"] as const) {
  const { weightBytes, cacheBytes } = estimateMemory(file, { contextLength: 1024, sequences: 4, cacheType });
  console.log(`${cacheType}: weights ${weightBytes} bytes, cache ${cacheBytes} bytes`);
}
await file.close();
