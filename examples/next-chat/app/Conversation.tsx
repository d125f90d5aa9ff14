import type { UIMessage } from "ai";

interface ConversationProps {
  readonly title: string;
  readonly state: string;
  readonly messages: readonly UIMessage[];
  readonly isReady: boolean;
  readonly ask: (text: string) => void;
}

/** A chat, wherever its model runs. */
export function Conversation({ title, state, messages, isReady, ask }: ConversationProps) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p role="status">{state}</p>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          <strong>{role}</strong> {parts.map((part) => (part.type === "text" ? part.text : ""))}
        </p>
      ))}
      <form action={(form) => ask(String(form.get("text")))}>
        <input name="text" aria-label="Message" defaultValue="Tell me a story about a fox." required />
        <button type="submit" disabled={!isReady}>
          Send
        </button>
      </form>
    </section>
  );
}
