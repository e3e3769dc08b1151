// The Node packages that `make peers` installs, for programs that do not live beside them.
import { createRequire } from "node:module";

export const load = createRequire(new URL("../../../peers/node/package.json", import.meta.url));
