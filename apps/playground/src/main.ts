// The scripts of the app and of the open page are downloaded at once.
import { pageOf } from "./app/pageNames.ts";
import { loadPage } from "./app/pages.ts";
import "./styles.css";

const page = pageOf(location.hash);
// The app loads the page again where this fails, and shows why.
if (page !== "chat") loadPage[page]().catch(() => undefined);
void import("./start.tsx");
