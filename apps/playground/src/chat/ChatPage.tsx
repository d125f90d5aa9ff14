import { lazy, type ReactElement, Suspense, useEffect, useState } from "react";
import { setParams, useRoute } from "../app/route.ts";
import { text } from "../text/english.ts";
import { Button } from "../ui/controls.tsx";
import { ConversationList } from "./ConversationList.tsx";
import { type Conversation, listConversations, readConversation, removeConversation } from "./conversations.ts";
import { SettingsPanel } from "./SettingsPanel.tsx";
import { Starter } from "./Starter.tsx";
import { removeSnapshot } from "./snapshots.ts";

/** Conversations with the model, and how its answers are written. */
export function ChatPage(): ReactElement {
  const { id, list, refresh, open, remove } = useConversations();
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    document.title = `${text.chat.title} – ${text.name}`;
  }, []);
  return (
    <div className="flex h-full min-h-0 flex-col lg:flex-row">
      <h1 className="sr-only">{text.chat.title}</h1>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <StoredConversation key={id} id={id} onSaved={refresh} />
      </div>
      <Button
        kind="quiet"
        className="rounded-none border-t border-line lg:hidden"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {isOpen ? text.chat.hideSettings : text.chat.showSettings}
      </Button>
      <aside
        aria-label={text.chat.settings}
        className={`${isOpen ? "" : "hidden lg:block"} max-h-[50dvh] shrink-0 space-y-6 overflow-y-auto border-line bg-raised p-4 lg:max-h-none lg:w-72 lg:border-l`}
      >
        <ConversationList current={id} conversations={list} onOpen={open} onRemove={remove} />
        <SettingsPanel />
      </aside>
    </div>
  );
}

interface Conversations {
  readonly id: string;
  readonly list: readonly Conversation[];
  readonly refresh: () => void;
  readonly open: (id: string | undefined) => void;
  readonly remove: (id: string) => void;
}

/** The stored conversations, and which one is open: the one in the address, or a new one. */
function useConversations(): Conversations {
  const { params } = useRoute();
  const [fresh, setFresh] = useState(() => crypto.randomUUID());
  const [list, setList] = useState<readonly Conversation[]>([]);
  const refresh = (): void => void listConversations().then(setList);
  useEffect(refresh, []);
  const id = params.get("conversation") ?? fresh;
  const open = (next: string | undefined): void => {
    if (next === undefined) setFresh(crypto.randomUUID());
    setParams({ conversation: next });
  };
  return {
    id,
    list,
    refresh() {
      refresh();
      // A reload finds the conversation by the address.
      setParams({ conversation: id });
    },
    open,
    remove(removed) {
      void Promise.all([removeConversation(removed), removeSnapshot(removed)]).then(refresh);
      if (removed === id) open(undefined);
    },
  };
}

const loadThread = async () => ({ default: (await import("./OpenThread.tsx")).OpenThread });
const LazyThread = lazy(loadThread);

/** A conversation: where it begins, or what was written so far. */
function StoredConversation({ id, onSaved }: { readonly id: string; readonly onSaved: () => void }): ReactElement | null {
  const [stored, setStored] = useState<{ readonly conversation: Conversation | undefined }>();
  const [first, setFirst] = useState<string>();
  useEffect(() => void readConversation(id).then((conversation) => setStored({ conversation })), [id]);
  if (stored === undefined) return null;
  if (stored.conversation === undefined && first === undefined) return <Starter onIntent={() => void loadThread()} onSend={setFirst} />;
  return (
    <Suspense fallback={<p className="p-6 text-sm text-muted">{text.common.loadingPage}</p>}>
      <LazyThread id={id} initial={stored.conversation} first={first} onSaved={onSaved} />
    </Suspense>
  );
}
