import { z } from "zod";
import { destinationView } from "./destinations.ts";
import {
  alertCountsView,
  diskView,
  queueView,
  relayView,
  retentionView,
  runningRelayView,
  spoolView,
} from "./relays.ts";
import { view } from "./shapes.ts";
import { accountView, canaryView, silenceView, sourceView, troubleView, watchView } from "./watches.ts";

/** How all is, in one answer. */

/** What the store knows, whether a relay runs or not. */
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
