import type { ReactNode } from "react";

export const metadata = { title: "Two chats" };

// biome-ignore lint/style/noDefaultExport: Next loads the default export.
export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
