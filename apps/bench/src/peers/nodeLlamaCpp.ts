import type { ModelCompetitor, ModelRunner } from "../models/competitor.ts";
import { Skip } from "../runner/subject.ts";
import { loadPeer, peerVersion } from "./load.ts";
import type { PeerAdapter } from "./peer.ts";

interface Llama {
  loadModel(options: {
    readonly modelPath: string;
    readonly gpuLayers: number;
    readonly useMmap: boolean;
    readonly vocabOnly?: boolean;
  }): Promise<LlamaModel>;
  dispose(): Promise<void>;
}

interface LlamaModel {
  createContext(options: {
    readonly contextSize: number;
    readonly batchSize: number;
    readonly threads: number;
    readonly sequences: number;
  }): Promise<LlamaContext>;
  tokenize(text: string, specialTokens: boolean): readonly number[];
  dispose(): Promise<void>;
}

interface LlamaContext {
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}

interface LlamaSequence {
  readonly contextTokens: readonly number[];
  clearHistory(): Promise<void>;
  eraseContextTokenRanges(ranges: readonly { readonly start: number; readonly end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
  evaluate(tokens: readonly number[], options: { readonly temperature: number; readonly yieldEogToken: boolean }): AsyncGenerator<number>;
}

/** llama.cpp's native CPU code through node-llama-cpp. */
export const nodeLlamaCpp: PeerAdapter = {
  name: "node-llama-cpp",
  kind: "cpu",
  async open({ threads }) {
    const { getLlama, LlamaLogLevel } = (await loadPeer("node-llama-cpp")) as {
      getLlama(options: object): Promise<Llama>;
      readonly LlamaLogLevel: { readonly error: string };
    };
    // Without these options it would download or compile a binary if its own does not fit.
    const llama = await getLlama({
      gpu: false,
      build: "never",
      skipDownload: true,
      progressLogs: false,
      logLevel: LlamaLogLevel.error,
      maxThreads: threads,
    });
    return { version: peerVersion("node-llama-cpp"), model: competitorOf(llama, threads), dispose: () => llama.dispose() };
  },
};

function competitorOf(llama: Llama, threads: number): ModelCompetitor {
  return {
    name: "node-llama-cpp",
    side: "peer",
    threads,
    async open(file, contextLength) {
      const model = await load(llama, file, false);
      const context = await model.createContext({ contextSize: contextLength, batchSize: 512, threads, sequences: 1 });
      return runnerOf(model, context);
    },
    async openTokenizer(file) {
      const model = await load(llama, file, true);
      return { tokenize: (text) => model.tokenize(text, false), dispose: () => model.dispose() };
    },
  };
}

function load(llama: Llama, file: string, vocabOnly: boolean): Promise<LlamaModel> {
  return llama.loadModel({ modelPath: file, gpuLayers: 0, useMmap: true, vocabOnly }).catch((error: Error) => {
    throw new Skip(error.message);
  });
}

function runnerOf(model: LlamaModel, context: LlamaContext): ModelRunner {
  const sequence = context.getSequence();
  return {
    async prefill(ids) {
      await sequence.clearHistory();
      const start = performance.now();
      await firstOf(sequence, ids, 1);
      return (performance.now() - start) / 1e3;
    },
    async decode(prompt, tokens) {
      const start = prompt.length - 1;
      const { contextTokens } = sequence;
      // A long prompt is computed once for all samples.
      if (contextTokens.length > start && prompt.every((id, i) => i === start || contextTokens[i] === id)) {
        await sequence.eraseContextTokenRanges([{ start, end: contextTokens.length }]);
      } else {
        await sequence.clearHistory();
        await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(0, -1));
      }
      const startedAt = performance.now();
      await firstOf(sequence, prompt.slice(-1), tokens);
      return (performance.now() - startedAt) / 1e3;
    },
    async dispose() {
      await context.dispose();
      await model.dispose();
    },
  };
}

/** Feeds ids and generates `tokens` tokens, regardless of their content. */
async function firstOf(sequence: LlamaSequence, ids: readonly number[], tokens: number): Promise<void> {
  let count = 0;
  for await (const _token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    count++;
    if (count >= tokens) break;
  }
  if (count < tokens) throw new Error(`expected ${tokens} tokens, got ${count}`);
}
