import { createElement as h, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { CentellaProvider, useModel } from "../../src/index.ts";
import { type ChatMessage, useCentellaChat } from "../../src/useCentellaChat.ts";

const agent = { temperature: 0, maxOutputTokens: 20 };
const stored = JSON.parse(localStorage.getItem("messages") ?? "[]") as ChatMessage[];

/** A chat that is stored when an answer is complete. */
function Chat(): ReactNode {
  const model = useModel(new URL("/model.gguf", location.href).href, { contextLength: 512 });
  const { messages, sendMessage, status } = useCentellaChat(model, {
    agent,
    messages: stored,
    onFinish: (answer) => localStorage.setItem("messages", JSON.stringify(answer.messages)),
  });
  const texts = messages.map(({ id, parts, metadata }) => {
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    return h("p", { key: id, "data-prompt-tokens": metadata?.usage?.promptTokens }, text);
  });
  const send = (): void => void sendMessage({ text: "Tell me of a fox." });
  return h("section", null, ...texts, h("button", { onClick: send, disabled: status !== "ready", type: "button" }, "Send"));
}

const worker = (): Worker => new Worker("/engine.js", { type: "module" });
createRoot(document.querySelector("main")!).render(h(CentellaProvider, { worker }, h(Chat)));
