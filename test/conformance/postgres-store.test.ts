import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { postgresDatabaseOf } from "../support/postgres.ts";
import { describeStore } from "./store/common/suite.ts";
import { describeShared } from "./store/shared/suite.ts";

const open = async (dataDir: string) =>
  openPostgresStore({ url: await postgresDatabaseOf(dataDir), relayName: "a test" });

describeStore("PostgreSQL", open);

describeShared("PostgreSQL", open, { sharedByRelays: true });
