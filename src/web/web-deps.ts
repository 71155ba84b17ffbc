import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { NewId } from "../core/id.ts";
import type { Operations } from "../core/operations.ts";
import type { Secret } from "../core/secret.ts";
import type { LogStore, Store } from "../core/store.ts";

/** All that pages and API are made from. */
export interface WebDeps {
  store: LogStore & Pick<Store, "onChange">;
  operations: Operations;
  adminToken: Secret;
  /** How browsers reach the page, without a trailing slash: decides cookie flags and the origin that form posts must have. */
  publicUrl: string;
  /** Whether proxies in front may be believed about the client's address (`Fly-Client-IP`). Default false. */
  behindFly: boolean;
  clock: Clock;
  newId: NewId;
  log: Log;
}
