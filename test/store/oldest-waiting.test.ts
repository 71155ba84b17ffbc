import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";

import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { createContext } from "../../src/store/sqlite/transactions/context.ts";
import { createTransactions } from "../../src/store/sqlite/transactions/index.ts";
import { newId } from "../conformance/store/scene-samples.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Where `chat` has more deliveries that wait than are looked at: all of them, put off in different ways. */
describe("how long the oldest delivery of a long backlog waits", () => {
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
  ])("is exact when %s", async (_name, change) => {
    const path = join(makeTempFolder(), "tocsin.db");
    writeStoredLog({ path, alerts: 2_000, endAt: Date.UTC(2026, 5, 1) });
    const db = openDatabase({ path });
    onTestFinished(() => void db.close());
    db.exec(`UPDATE deliveries SET ${change}, finished_at = NULL, resent_by = NULL WHERE destination = 'chat'`);
    const all = "SELECT count(*), min(created_at) FROM deliveries WHERE destination = 'chat' AND due_at IS NOT NULL";
    const [count, oldest] = db.prepare<[], [number, number]>(all).raw().get() as [number, number];
    expect(count).toBeGreaterThan(1_000);
    const { countByDestination } = createTransactions(createContext({ db, newId, now: Date.now }));
    const chat = (await countByDestination()).find(({ destination }) => destination === "chat");
    expect(chat?.oldestWaitingAt).toBe(oldest);
  });
});
