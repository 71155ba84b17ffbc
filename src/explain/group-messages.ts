import type { GroupEvent } from "../core/group.ts";
import { groupBy } from "../ground/group-by.ts";
import type { Gathered } from "../ringing/judge-group.ts";
import type { RingCounter } from "./ring-count.ts";

interface Waiting {
  event: GroupEvent;
  rings: boolean;
  count: RingCounter;
  dueAt: number;
  /** Nobody hears of it: an end of its key follows before its cause is over. */
  isOver?: boolean;
}

/** Counts what waits as lanes send it: what is due by one name at one time is one message, which rings once. */
export function createGroupMessages() {
  /** Waiting alerts by destination and name; the alert that is due first comes first. */
  const byName = new Map<string, Waiting[]>();
  /** What was due at one time went out together. */
  const tell = (due: Waiting[]): void => {
    const told = due.filter(({ isOver }) => !isOver);
    for (const together of groupBy(told, ({ dueAt }) => dueAt).values()) {
      const endOf = new Map<string, number>();
      for (const [index, { event }] of together.entries())
        if (event.status === "resolved") endOf.set(event.alertKey, index);
      // What is over in its own message makes no sound.
      const rung = together.find(({ event, rings }, index) => rings && !((endOf.get(event.alertKey) ?? -1) > index));
      if (rung) rung.count.ring(rung.dueAt);
      if (together.length < 2) continue;
      for (const { count } of together) count.joined += 1;
      for (const count of new Set(together.map((one) => one.count))) count.messages += 1;
    }
  };
  return {
    /** In the order of the log. */
    add(
      destination: string,
      alert: Omit<Waiting, "dueAt">,
      { held, changes }: Pick<Gathered, "held" | "changes">,
    ): void {
      /** What still waits under a name. It counts first what was due before this alert, since nothing changes that any more. */
      const waitingFor = (name: string): Waiting[] => {
        const key = `${destination}\n${name}`;
        const all = byName.get(key) ?? [];
        byName.set(key, all);
        tell(all.splice(0, all.findLastIndex(({ dueAt }) => dueAt < alert.event.at) + 1));
        return all;
      };
      for (const { name, dueAt, ...change } of changes) {
        const all = waitingFor(name);
        if (change.kind === "move") {
          const isMoved = ({ event }: Waiting) => change.keys.includes(event.alertKey);
          const left = all.splice(0);
          all.push(...left.filter((one) => !isMoved(one)));
          const there = waitingFor(change.to);
          there.push(...left.filter(isMoved).map((one) => Object.assign(one, { dueAt })));
          there.sort((one, other) => one.event.at - other.event.at);
          continue;
        }
        const ended = new Set<string>();
        for (const one of all.toReversed()) {
          if (one.event.status === "resolved" && change.kind === "release") ended.add(one.event.alertKey);
          one.isOver ||= ended.has(one.event.alertKey);
          one.dueAt = Math.min(one.dueAt, dueAt);
        }
      }
      if (held !== undefined) waitingFor(held.name).push({ ...alert, dueAt: held.dueAt });
    },
    /** Nothing more comes: what still waits goes out when it is due. */
    end(): void {
      for (const all of byName.values()) tell(all);
    },
  };
}
