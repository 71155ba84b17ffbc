import { expect, it } from "vitest";
import { readVersion } from "../../src/ground/version.ts";
import { type FakeStatus, runBeside } from "./fake-status.ts";

const at = "2026-11-21T12:00:00.000Z";
const damage = "database disk image is malformed";
const bad = { level: "bad" as const, notes: [] };
const relay = (name: string, version = readVersion()) => ({
  ...{ id: name, name, version, startedAt: at, seenAt: at, isSelf: name === "fra-1", watches: false },
  ...{ configuration: "newest" as const, configurationVersion: 1, ready: true, reasons: [], destinations: [] },
});
const heartbeat = { name: "heartbeat", verdict: "well" as const, summary: "hc-ping.com takes it", troubles: [] };
const canary = { schedule: "every 1 h", nextAt: at, lastOkAt: at };
const watch = { since: "2026-11-01T12:00:00.000Z", quietMs: 60_000, lastAt: at };
const learning = { days: 42, daysNeeded: 14, arrivals: 6, arrivalsNeeded: 30, isReading: false };
const account = "The account's webhook was switched off";

const states: Record<string, FakeStatus> = {
  "that cannot look up earlier alerts": {
    disk: { damage },
    troubles: [
      { kind: "store", level: "bad", what: "The database is damaged", reason: damage, notes: ["repeats may be sent"] },
    ],
  },
  "that is not ready": {
    relay: { ready: false, reasons: ["the disk is full", "alerts cannot be read: no threads"], unreadableAlerts: 2 },
  },
  "beside others of its version": {
    relay: { hearing: { by: "listen", isPooled: false } },
    relays: [relay("fra-1"), { ...relay("fra-2"), unheardMs: 9_000 }],
  },
  "beside others of other versions, of which one is not ready": {
    relays: [relay("fra-1"), relay("fra-2", "1.9.0"), relay("fra-3", "1.8.0")],
    troubles: [
      { kind: "relay", level: "warn", name: "fra-2", what: "The relay fra-2 is not ready", reason: "full", notes: [] },
    ],
  },
  "with two destinations in trouble": {
    troubles: ["desk", "night"].map((name) => ({ ...bad, kind: "destination", name, what: `${name} is down` })),
  },
  "whose heartbeat is taken, and whose canary works": {
    watches: [heartbeat],
    canary: { ...canary, state: "works" },
  },
  "whose heartbeat is refused": {
    watches: [
      {
        ...{ ...heartbeat, verdict: "trouble", summary: "it answered 404" },
        troubles: ["Heartbeat: it answered 404. Compare the address with the one that the service shows."],
      },
    ],
    troubles: [{ ...bad, kind: "watch", name: "heartbeat", what: "it answered 404" }],
  },
  "whose canary fails": {
    canary: { ...canary, state: "fails", stage: "tls", detail: "no secure connection could be made" },
    troubles: [{ ...bad, kind: "canary", what: "Tests do not get through", since: at, reason: "no TLS" }],
  },
  "to which nothing comes": {
    silence: [
      { ...watch, watch: "hook", of: "hook", state: "silent", afterMs: 60_000 },
      {
        ...{ ...watch, lastAt: undefined, watch: "source:x", of: "source", state: "learning", learning },
        name: `Weekly \u001b[31m${"report ".repeat(9)}`,
      },
    ],
    canary: { ...canary, lastOkAt: undefined, state: "waiting" },
    troubles: [{ ...bad, kind: "silence", what: "Nothing has come for 3 h" }],
  },
  "whose account sends to nobody": {
    account: {
      ...{ serviceConfigured: true, canPutBack: true },
      answer: { at: "2026-11-21T11:58:00.000Z", webhook: "nowhere", keyExpiresAt: "2026-11-27T00:00:00.000Z" },
    },
    watches: [
      {
        ...{ name: "account", verdict: "trouble", summary: account, lookedAt: "2026-11-21T11:58:00.000Z" },
        troubles: [`${account}. Put it back with: tocsin setup --take-over.`],
      },
    ],
    troubles: [{ ...bad, kind: "watch", name: "account", what: account }],
  },
  "that is older than the command": undefined,
};

/** What a command says of a relay in this state, but for how many warnings it counts: some are of this machine. */
async function say(command: string, state: FakeStatus): Promise<string[]> {
  const { status, stdout, stderr, url, cwd } = await runBeside(state, [command]);
  const said = stdout + stderr.replaceAll(/^/gm, "stderr ");
  const named = said
    .replaceAll(url, "<relay>")
    .replaceAll(cwd, "<data>")
    .replaceAll(readVersion(), "<version>")
    .replaceAll(/: \S+ \S+ of \S+ \S+ are free/g, ": some is free");
  return [`ends with ${status}`, ...named.split("\n").filter((line) => !/^(stderr )?$|\d warnings?\.$/.test(line))];
}

it.each(Object.entries(states))(
  "of a relay %s status and doctor say other than of one that is well",
  async (_, state) => {
    let told = "\n";
    for (const command of ["status", "doctor"]) {
      const [before, now] = [await say(command, {}), await say(command, state)];
      const without = (lines: string[], others: string[]) => lines.filter((line) => !others.includes(line));
      const lines = [
        ...without(before, now).map((line) => `- ${line}`),
        ...without(now, before).map((line) => `+ ${line}`),
      ];
      told += [`tocsin ${command}`, ...lines, ""].join("\n");
    }
    expect(told).toMatchSnapshot();
  },
);
