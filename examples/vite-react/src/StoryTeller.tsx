import { fable } from "@centella/model-fable"; // or the URL of any GGUF file, or "hf:owner/repo:Q4_K_M"
import { useModel } from "@centella/react";
import { useState } from "react";

export function StoryTeller() {
  const { status, bytes, totalBytes, backend, tokensPerSecond, error, model, load } = useModel(fable);
  const [story, setStory] = useState("");

  async function tell(form: FormData) {
    setStory("");
    const parts = model!.createSession().generate(`Tell me a story about ${form.get("topic")}.`, { maxTokens: 200 });
    for await (const part of parts) if (part.type === "text") setStory((text) => text + part.text);
  }

  return (
    <main>
      <p role="status">
        {status} {backend !== undefined && `on ${backend}`} {tokensPerSecond !== undefined && `${tokensPerSecond.toFixed(0)} tokens/s`}
      </p>
      {(status === "downloading" || status === "loading") && <progress value={bytes} max={totalBytes} />}
      {(status === "error" || status === "lost") && (
        <button type="button" onClick={() => void load()}>
          {String(error)} Try again
        </button>
      )}
      <form action={tell}>
        <label>
          A story about <input name="topic" defaultValue="a fox" required />
        </label>
        <button type="submit" disabled={status !== "ready"}>
          Tell
        </button>
      </form>
      <article>{story}</article>
    </main>
  );
}
