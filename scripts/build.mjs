// `pnpm build`: install if need be, then build every package.
import { build, install } from "./workspace.mjs";

install();
build();
