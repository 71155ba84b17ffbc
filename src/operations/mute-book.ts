import type { Operations } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { listFormerMutes, releasableMs } from "../core/former-mutes.ts";
import type { NewId } from "../core/id.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { MuteStore } from "../core/ports/shared.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import { keptNameOf, type Mute } from "../core/rules.ts";
import { compileMatchers } from "../matching/judge.ts";

export interface MuteBookDeps {
  store: MuteStore & Pick<WatchStore, "loadWatchState">;
  configured: Mute[];
  clock: Clock;
  newId: NewId;
  log: Log;
}

/**
 * The mutes of run time, in memory, so routing waits for nobody. A change here is in force when the promise resolves, a
 * change of another process after the next look.
 */
export interface MuteBook extends Pick<Operations, "listMutes" | "addMute" | "endMute">, Poll {
  active(): Mute[];
}

export async function openMuteBook(deps: MuteBookDeps): Promise<MuteBook> {
  const { store, configured, clock, newId, log } = deps;
  let known: Mute[] = [];
  let changes = 0;

  async function refresh(): Promise<void> {
    const before = changes;
    const mutes = await store.listMutes(clock.now(), false);
    // The answer may be older than a change that was made here meanwhile. The next look comes in a second.
    if (changes === before) known = mutes;
  }

  /** Takes stored mutes over without another question to the store, which could fail. */
  function keep(mutes: Mute[]): void {
    changes += 1;
    known = mutes;
  }

  const without = (id: string) => known.filter((mute) => mute.id !== id);

  await refresh();
  return {
    ...createPoll({ look: refresh, everyMs: 1_000, clock, onFailed: logFailure(log, "mutes.unread") }),
    active: () => known.filter((mute) => mute.endsAt > clock.now()),
    listMutes: (includeEnded) => listMutes(store, configured, clock.now(), includeEnded),
    async addMute(input) {
      const now = clock.now();
      const mute: Mute = { id: newId(), createdAt: now, ...input, startsAt: input.startsAt ?? now };
      if (mute.endsAt <= Math.max(mute.startsAt, now))
        throw new AppError("invalid_request", "A mute must end after it starts, and in the future.");
      // Throws here, so a person hears of a mute that cannot be judged: routing would ignore it.
      compileMatchers(mute.matchers);
      if ((await store.addMute(mute)) === "over") {
        throw new AppError("conflict", "It is over already.", { hint: "Say for how long instead." });
      }
      keep([...without(mute.id), mute]);
      return mute;
    },
    async endMute(id) {
      if (configured.some((mute) => mute.id === id)) {
        throw new AppError("conflict", "This mute is in the configuration.", {
          hint: "Remove it there: the changed file is taken over within some seconds.",
        });
      }
      if (!(await store.endMute(id, clock.now()))) {
        throw new AppError("not_found", `There is no active mute ${id}.`, {
          hint: "List them to see their ids.",
        });
      }
      keep(without(id));
    },
  };
}

export async function listMutes(
  store: Pick<MuteStore, "listMutes" | "countSilenced"> & Pick<WatchStore, "loadWatchState">,
  configured: readonly Mute[],
  now: number,
  includeEnded = false,
): Promise<(Mute & { silenced?: number })[]> {
  const ofConfiguration = configured.filter((mute) => includeEnded || mute.endsAt > now);
  const former = includeEnded ? await listFormerMutes(store, configured, now) : [];
  const mutes = [...ofConfiguration, ...former, ...(await store.listMutes(now, includeEnded))];
  const ended = mutes.filter(({ endsAt }) => endsAt <= now && now - endsAt < releasableMs);
  const counts = await store.countSilenced(ended.map(keptNameOf));
  const alertsOf = new Map(counts.map(({ mutedBy, alerts }) => [mutedBy, alerts]));
  return mutes.map((mute) => {
    const silenced = ended.includes(mute) ? alertsOf.get(keptNameOf(mute)) : undefined;
    return silenced === undefined ? mute : { ...mute, silenced };
  });
}
