/** Loads the server and receives its messages: both by one clock, and a load can wait for arrivals. See `drive.ts`. */
import { firstAccepted, flood, keepBacklog, pacedAlerts, relayInPhases, sendAlerts, shareAlerts } from "./loads.ts";
import { readPages } from "./page-reader.ts";
import { closeStandIn, openStandIn } from "./stand-ins.ts";

const duties = {
  openStandIn,
  closeStandIn,
  flood,
  keepBacklog,
  relayInPhases,
  shareAlerts,
  pacedAlerts,
  sendAlerts,
  firstAccepted,
  readPages,
};
export type Duties = typeof duties;

process.on("message", async ({ id, name, input }: { id: number; name: keyof Duties; input: unknown[] }) => {
  try {
    const duty = duties[name] as (...input: unknown[]) => unknown;
    process.send?.({ id, value: await duty(...input) });
  } catch (error) {
    process.send?.({ id, error: (error as Error).stack });
  }
});
process.once("disconnect", () => process.exit(0));
