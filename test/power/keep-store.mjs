// Works on the built store alone, since a relay maintains its database but once an hour: accepts alerts, and between
// them empties the log and gives free pages back. Prints each alert when it is stored.
import { openThreadedStore } from "../../dist/store/sqlite/threaded-store.js";

const [dataDir, rounds, alerts] = process.argv.slice(2);
const store = await openThreadedStore({ dataDir });
const hour = 60 * 60 * 1000;
for (let round = 0; round < Number(rounds); round += 1) {
  const maintained = store.maintain(Date.now() + round * hour);
  const accepted = Array.from({ length: Number(alerts) }, async (_, serial) => {
    const id = `01a20000-0000-7000-8000-${String(round * 1000 + serial).padStart(12, "0")}`;
    const body = `{"title":"Store ${round}-${serial}"}`;
    await store.acceptRequest({
      receivedAt: Date.now(),
      headers: "[]",
      body: Buffer.from(body),
      ids: [id],
      origin: "hook",
      dedupeWindowMs: hour,
    });
    console.log(JSON.stringify({ accepted: id, body }));
  });
  await Promise.all([maintained, ...accepted]);
}
await store.close();
