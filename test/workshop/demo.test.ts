import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { AppError } from "../../src/core/errors.ts";
import { createTestContext } from "../support/cli.ts";
import { readingThreadEntry } from "../support/reader.ts";

/** Worker threads cannot load TypeScript here, so the relay's database thread is the built one. */
const storeThreadEntry = new URL("../../dist/store/sqlite/thread.js", import.meta.url);

it("shows alerts that stay open in each kind of chat, a token for a second browser, and a page whose buttons send more", async () => {
  const stopping = new AbortController();
  let all = "";
  const waiting = new Set<() => void>();
  const sink = {
    write(text: string | Uint8Array, callback: () => void) {
      all += text;
      for (const look of waiting) look();
      callback();
    },
  };
  const { context } = createTestContext({
    stdout: sink,
    isTty: { stdin: false, stdout: true, stderr: false },
    columns: 100,
    env: { NO_COLOR: "1" },
    now: Date.now,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    signal: stopping.signal,
    readingThreadEntry,
    storeThreadEntry,
  });
  const ended = runCli(["demo", "--port", "0"], context);
  const stop = () => {
    stopping.abort(new AppError("cancelled", "stopped by SIGINT"));
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve) => {
      const look = () => {
        const found = pattern.exec(all);
        if (found === null) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });

  const [, page = "", token = ""] = await until(/in another browser: (\S+)\/ with the\s+token\s+(\S+)\n/);
  const [, service = ""] = await until(/service +(\S+)\/\n/);
  await until(/→ .* critical [\s\S]*?← .* 7 sent/);
  const headers = { authorization: `Bearer ${token}` };
  const list = async () => {
    const answer = await fetch(`${page}/api/alerts`, { headers });
    return ((await answer.json()) as { data: { severity: string; status: string }[] }).data;
  };
  // The market moves as it likes meanwhile.
  expect(await list()).toContainEqual(expect.objectContaining({ severity: "critical", status: "firing" }));

  const html = await (await fetch(service)).text();
  const [, board = ""] = /href="(http[^"]+)\/\?app=slack">Slack</.exec(html) ?? [];
  for (const app of ["telegram", "mail", "slack", "discord", "ntfy"]) {
    const shown = await (await fetch(`${board}/?app=${app}`)).text();
    expect([app, shown.includes('<li class="message"')]).toEqual([app, true]);
    if (app !== "slack" && app !== "ntfy") continue;
    // They show the picture by its address, which a person who looks at the demo can fetch.
    const [address = ""] = /http:\/\/127\.0\.0\.1:\d+\/pictures\/[\w.-]+\.png/.exec(shown) ?? [];
    // Drawn, or not yet: what draws is the built one's thread.
    expect([200, 503]).toContain((await fetch(address)).status);
  }
  const key = /name="key" value="([^"]+)"/.exec(html)?.[1] ?? "";
  const press = (what: string, withKey = key) =>
    fetch(`${service}/send`, { method: "POST", body: new URLSearchParams({ what, key: withKey }), redirect: "manual" });
  expect((await press("critical", "wrong")).status).toBe(403);
  expect((await press("warning")).status).toBe(303);
  await until(/← [\s\S]*→ .* warning [\s\S]*→ .* warning /);
  expect((await press("resolve")).status).toBe(303);
  await until(/→ .* resolved /);
  expect(await stop()).toBe(0);

  const lines = stripVTControlCharacters(all).split("\n");
  expect(lines.filter((line) => line.length > 100 && !/https?:\/\/\S{60}/.test(line))).toEqual([]);
});
