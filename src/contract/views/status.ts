import { z } from "zod";
import { destinationView } from "./destinations.ts";
import { count, flag, instant, listOf, maybe, notReady, text, view } from "./parts.ts";
import { accountView, canaryView, silenceView, sourceView, troubleView, watchView } from "./watches.ts";

/** Views of the whole state: the relays of a log, and each relay's own. */

const relayView = view("Relay", {
  version: text,
  startedAt: instant,
  uptimeMs: count,
  stopping: flag.describe("It is being stopped."),
  ready: flag.describe("Alerts can be stored and deliveries go on, as `/readyz` says it."),
  reasons: notReady,
  unreadableAlerts: count.describe("Alerts that were sent as received, because reading or routing them failed twice."),
  socketIsHeld: flag.describe("It outlives the relay: alerts that arrive while it restarts wait there."),
  hearing: maybe("How it hears of what other relays have done; absent with SQLite.", {
    by: z.enum(["listen", "polls"]).describe("`polls`: only by looking every few seconds."),
    why: text.optional().describe("Why not at once."),
    isPooled: flag.describe("`DATABASE_URL` leads through a pooler."),
  }),
});

export const runningRelayView = view("RunningRelay", {
  id: text.describe("The id of its process: another one after each start."),
  name: text.describe("The name of its machine, as a rule; no two have the same."),
  version: text,
  isSelf: flag.describe("It is the one that answers."),
  configuration: z
    .enum(["newest", "older", "starting"])
    .describe("Those with the `newest` route and deliver; the others only accept."),
  configurationVersion: count.describe("The higher, the later the database saw it first."),
  watches: flag.describe("It watches account, silence and the like for all."),
  ready: flag.optional().describe("Absent, as the counts: its version does not say it."),
  unheardMs: count.optional().describe("How long it has said nothing; after 15 s another one takes over."),
  reasons: notReady,
  accepted: count.optional().describe("Alerts since its start."),
  spooled: count.optional().describe("Alerts that wait in its spool; absent without one."),
  startedAt: instant,
  seenAt: instant.describe("When it last said that it runs: every 3 s."),
  destinations: listOf("Those of the answering relay's destinations that it serves.", {
    name: text,
    since: instant.optional(),
  }),
});

const alertCountsView = view("AlertCounts", {
  total: count.describe("Alerts that were ever stored, Tocsin's own notices among them."),
  kept: count.describe("Those of them that were not removed since."),
  oldestReceivedAt: instant.optional().describe("When the oldest came that is kept."),
  lastReceivedAt: instant
    .optional()
    .describe("When a sender's last alert came, no test and no notice. Absent: none came yet."),
});

const queueView = view("Queue", {
  unrouted: count.describe("Alerts accepted and not decided about yet."),
  oldestUnroutedAt: instant.optional().describe("When the oldest of them arrived."),
  queued: count.describe("Deliveries at all `destinations` together, by state."),
  waiting: count,
  sending: count,
  held: count,
  failed: count.describe("One that was resent counts as its resend does."),
  expired: count,
  oldestWaitingAt: instant.optional().describe("When the oldest waiting or held delivery was made."),
});

const diskView = view("Disk", {
  databaseBytes: count,
  freeBytes: count.optional().describe("Absent where the database is another machine's."),
  full: flag.describe("New alerts are answered 503 until there is room."),
  damage: text.optional().describe("Why earlier alerts could not be looked up, so that repeats may have been sent."),
});

const retentionView = view("Retention", {
  maxAgeMs: count.optional().describe("Absent: alerts are kept however old they are."),
  maxBytes: count.optional().describe("Absent: alerts are kept however much they take."),
});

const spoolView = view("Spool", {
  alerts: count.describe("How many wait."),
  bytes: count.describe("What its files take."),
  maxBytes: count.describe("Beyond it alerts are answered 503."),
  oldestAt: instant.optional().describe("When the oldest that waits came."),
  since: instant.optional().describe("Since when something has waited."),
  problem: text.optional().describe("Why the last that should have waited there could not."),
  stuck: count.describe("Requests that the database refuses for what they are."),
  unreadable: count.describe("Alerts that could not be read back since the start."),
  damagedFiles: z.array(text).describe("Files with alerts that cannot be read, kept aside."),
});

export const logView = z.object({
  alerts: alertCountsView,
  queue: queueView.describe("What is on its way, at the destinations that are configured."),
  destinations: z.array(destinationView).describe("In the order of the configuration."),
  disk: diskView,
  retention: retentionView.describe("What is removed by and by, once it is finished."),
});

export const statusView = view("Status", {
  troubles: z.array(troubleView).default([]).describe("What is wrong now, worst first, as each page says it."),
  relay: relayView.describe("The relay that answers."),
  relays: z.array(runningRelayView).default([]).describe("All that run on the database, the one that answers first."),
  ...logView.shape,
  account: accountView.describe("As the relay's watch last heard. Nothing is asked for this answer."),
  sources: z.array(sourceView).default([]).describe("Named hooks beside the account's."),
  watches: z.array(watchView).default([]).describe("What the relay watches around it."),
  silence: z.array(silenceView).default([]).describe("The watches over alerts that do not come."),
  canary: canaryView.optional().describe("The test that Tocsin sends to its own address, if it sends one."),
  spool: spoolView.optional().describe("Alerts on this relay's disk that wait for the database (`SPOOL_DIR`)."),
});
