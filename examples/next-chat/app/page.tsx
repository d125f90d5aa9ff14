import { PageChat } from "./PageChat";
import { ServerChat } from "./ServerChat";

// biome-ignore lint/style/noDefaultExport: Next loads the default export.
export default function Page() {
  return (
    <main style={{ display: "grid", gridTemplateColumns: "1fr 1fr", gap: "2rem" }}>
      <ServerChat />
      <PageChat />
    </main>
  );
}
