import type { WatchStore } from "./ports/watch.ts";
import { keptNameOf, type Mute } from "./rules.ts";

const stateName = "mutes:configured";
/** How long after a mute's end people can release the alerts that it held back. */
export const releasableMs = 7 * 24 * 60 * 60_000;

async function read(store: Pick<WatchStore, "loadWatchState">, configured: readonly Mute[], now: number) {
  const known = ((await store.loadWatchState(stateName)) ?? []) as Mute[];
  const present = new Map(
    configured
      .filter(({ isDisabled, endsAt }) => !isDisabled && endsAt > now - releasableMs)
      .map((mute) => [keptNameOf(mute), mute]),
  );
  const former = known
    .filter(({ id, startsAt, endsAt }) => !present.has(id) && startsAt < now && endsAt > now - releasableMs)
    .map((mute) => ({ ...mute, endsAt: Math.min(mute.endsAt, now) }));
  return { former, known, present };
}

/** Mutes that have left the configuration. Each ended when a relay noticed that. Its id is the name that deliveries keep. */
export async function listFormerMutes(...asked: Parameters<typeof read>): Promise<Mute[]> {
  return (await read(...asked)).former;
}

/** Like `listFormerMutes`. Also saves the present mutes for the next comparison. */
export async function keepFormerMutes(store: WatchStore, configured: readonly Mute[], now: number): Promise<Mute[]> {
  const { former, known, present } = await read(store, configured, now);
  const ofFile = [...present].map(([id, mute]) => ({ ...mute, id, createdBy: "an earlier configuration" }));
  const state: Mute[] = [...ofFile, ...former];
  const identify = (mutes: Mute[]) => mutes.map(({ id, endsAt }) => `${id} ${endsAt}`).join();
  if (identify(state) !== identify(known)) await store.saveWatchState({ name: stateName, state });
  return former;
}
