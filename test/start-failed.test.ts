import { expect, it } from "vitest";
import { startRelay } from "../src/app.ts";
import { loadOrCreateSecrets } from "../src/config/generated-secrets.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { type Log, silentLog } from "../src/core/log.ts";
import type { Route } from "../src/core/rules.ts";
import { compiledThread } from "./support/compiled-thread.ts";
import { readingThreadEntry } from "./support/reader.ts";
import { makeTempFolder } from "./support/temp-folder.ts";

const route: Route = {
  name: "all",
  matchers: [],
  to: ["nobody"],
  continue: false,
  isDefault: true,
  updates: "auto",
  definedAt: "test",
};

async function start({ routes = [], log = silentLog }: { routes?: Route[]; log?: Log }): Promise<unknown> {
  const dataDir = makeTempFolder();
  const config = loadConfig({ env: { DATA_DIR: dataDir, PORT: "0" }, cwd: dataDir });
  const secrets = await loadOrCreateSecrets(dataDir, config);
  config.rules.routes = routes;
  return startRelay({
    config,
    secrets,
    log,
    storeThreadEntry: compiledThread(),
    readingThreadEntry,
  });
}

/** What keeps a process from ending: listening sockets, threads. */
function countHeld(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(TCPServerWrap|MessagePort|Worker)$/.test(kind))
    .length;
}

it.each([
  ["the rules", { routes: [route] }, "unknown destination nobody"],
  [
    "the last part",
    {
      log: {
        ...silentLog,
        info(event: string) {
          if (event === "relay.started") throw new Error("the log is gone");
        },
      },
    },
    "the log is gone",
  ],
])(
  "leaves nothing running when %s cannot be started, so that the process ends",
  async (_what, broken, why) => {
    const before = countHeld();
    await expect(start(broken)).rejects.toThrow(why);
    expect(countHeld()).toBe(before);
  },
);
