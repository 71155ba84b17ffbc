import type { GroupEvent } from "../core/group.ts";
import { groupBy } from "../ground/group-by.ts";
import type { Gathered } from "../ringing/judge-group.ts";

interface Waiting {
  event: GroupEvent;
  rings: boolean;
  count: { rings: number; joined: number; messages: number };
  dueAt: number;
  /** Nobody hears of it: an end of its key follows before its cause is over. */
  isOver?: boolean;
}

/** Counts what waits as lanes send it: what is due by one name at one time is one message, which rings once. */
export function createGroupMessages() {
  /** By destination and name; what is due first stands first. */
  const byName = new Map<string, Waiting[]>();
  return {
    /** In the order of the log. */
    add(destination: string, alert: Omit<Waiting, "dueAt">, { held, changes }: Gathered): void {
      const keyOf = (name: string) => `${destination}\n${name}`;
      for (const { name, kind, dueAt } of changes) {
        const all = byName.get(keyOf(name)) ?? [];
        const ended = new Set<string>();
        for (const one of all.slice(all.findLastIndex((one) => one.dueAt < alert.event.at) + 1).reverse()) {
          if (one.event.status === "resolved" && kind === "release") ended.add(one.event.alertKey);
          one.isOver ||= ended.has(one.event.alertKey);
          one.dueAt = Math.min(one.dueAt, dueAt);
        }
      }
      if (held === undefined) return;
      const all = byName.get(keyOf(held.name)) ?? [];
      byName.set(keyOf(held.name), all);
      all.push({ ...alert, dueAt: held.dueAt });
    },
    /** Nothing more comes: what still waits goes out when it is due. */
    end(): void {
      for (const all of byName.values()) {
        const told = all.filter(({ isOver }) => !isOver);
        for (const together of groupBy(told, ({ dueAt }) => dueAt).values()) {
          const rung = together.find(({ rings }) => rings);
          if (rung) rung.count.rings += 1;
          if (together.length < 2) continue;
          for (const { count } of together) count.joined += 1;
          for (const count of new Set(together.map((one) => one.count))) count.messages += 1;
        }
      }
    },
  };
}
