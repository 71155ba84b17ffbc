import type { Said } from "../../contract/api.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { askFirst, requireSomebody } from "../shell/confirm.ts";
import { terminalText } from "../shell/terminal-text.ts";
import { resolveId } from "./resolve-id.ts";

export interface ReleaseOptions {
  destination?: string;
  yes?: boolean;
}

/**
 * `tocsin alerts release`: sends now what quiet hours hold. It asks first, with the numbers, unless alerts are named.
 */
export async function releaseHeld(
  run: RelayRun,
  ids: string[],
  { destination, yes = false }: ReleaseOptions,
): Promise<void> {
  const { context } = run;
  const mustAsk = ids.length === 0 && !yes;
  const hint = "see what is held with: tocsin alerts list --state held";
  if (mustAsk) requireSomebody(context, "releasing without ids", hint);
  const { client } = await connectRelay(run);
  if (mustAsk) {
    const held = await countHeld(client, destination);
    if (held.length > 0) await askFirst(context, `Send now what quiet hours hold: ${held.join(", ")}?`);
  }
  const alerts: string[] = [];
  for (const id of ids) alerts.push(await resolveId(client, id));
  const releases = await client.release({ destination, alerts: ids.length === 0 ? undefined : alerts });
  await printAnswer(run, "release", releases, () => formatReleases(releases));
}

/** How much quiet hours hold for each. Empty for an unknown destination, which the relay refuses later. */
async function countHeld(client: RelayClient, destination: string | undefined): Promise<string[]> {
  const destinations = await client.listDestinations();
  return destinations.flatMap(({ name, heldByQuietHours }) =>
    heldByQuietHours !== undefined && (destination === undefined || destination === name)
      ? [`${heldByQuietHours.count} for ${name}`]
      : [],
  );
}

function formatReleases(releases: Said<"release">): string {
  if (releases.length === 0) return "Nothing to release: none of it is held.\n";
  const parts = releases.map(({ destination, released }) => `${released} for ${destination}`);
  return `${terminalText(`Sent now: ${parts.join(", ")}. Follow it with: tocsin alerts tail`)}\n`;
}
