import { expect, it } from "vitest";
import { openLog } from "./open-log.ts";

/** Where `chat` has more deliveries that wait than are looked at: all of them, put off in different ways. */
it.each<[string, string]>([
  ["none was tried yet", "state = 'queued', due_at = created_at"],
  [
    "the oldest was tried and waits for its next try",
    `due_at = iif(seq = (SELECT min(seq) FROM deliveries WHERE destination = 'chat'), 9e12, created_at),
       state = iif(seq = (SELECT min(seq) FROM deliveries WHERE destination = 'chat'), 'waiting', 'queued')`,
  ],
  [
    "the oldest was let go again",
    `state = 'queued', due_at = iif(seq = (SELECT min(seq) FROM deliveries WHERE destination = 'chat'), 9e12, created_at)`,
  ],
  ["all are held by quiet hours", "state = 'held', due_at = 9000000000000"],
  [
    "alerts of long ago were resent behind one that came before that",
    `state = 'queued', purpose = iif(alert_seq < 1500, 'bulk_resend', 'alert'),
       created_at = iif(alert_seq < 1500, 5000, 1000 + alert_seq), due_at = iif(alert_seq < 1500, 5000, 1000 + alert_seq)`,
  ],
])("how long the oldest delivery of a long backlog waits is exact when %s", async (_name, change) => {
  const { db, transactions } = openLog(2_000, Date.UTC(2026, 5, 1));
  db.exec(`UPDATE deliveries SET ${change}, finished_at = NULL, resent_by = NULL WHERE destination = 'chat'`);
  const all = "SELECT count(*), min(created_at) FROM deliveries WHERE destination = 'chat' AND due_at IS NOT NULL";
  const [count, oldest] = db.prepare<[], [number, number]>(all).raw().get() as [number, number];
  expect(count).toBeGreaterThan(1_000);
  const chat = (await transactions.countByDestination()).find(({ destination }) => destination === "chat");
  expect(chat?.oldestWaitingAt).toBe(oldest);
});
