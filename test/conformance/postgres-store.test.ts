import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { postgresDatabaseOf } from "../support/postgres.ts";
import { describeStore } from "./store/common/suite.ts";
import { describeShared } from "./store/shared/suite.ts";

/** No verdict hangs on how late the database answers. */
const answerWithinMs = 120_000;
const open = async (dataDir: string) =>
  openPostgresStore({ url: await postgresDatabaseOf(dataDir), relayName: "a test", answerWithinMs });

describeStore("PostgreSQL", open);

describeShared(open);
