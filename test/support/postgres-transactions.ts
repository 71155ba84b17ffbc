import { createIdSource } from "../../src/core/id.ts";
import { postgresDialect } from "../../src/store/postgres/tx.ts";
import { createSharedTransactions } from "../../src/store/transactions/index.ts";

/** The transactions that both databases share, as a relay makes them. */
export const { acceptRequests, removeOld, shared } = createSharedTransactions(postgresDialect, {
  ...{ relayName: "a test", startedAt: "" },
  newId: createIdSource(Date.now),
});
