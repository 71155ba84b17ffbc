import type { Clock } from "../core/clock.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Operations } from "../core/operations.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { ExpiringKeyStore } from "../core/ports/shared.ts";
import type { Signals } from "../core/ports/signals.ts";
import type { Secret } from "../core/secret.ts";
import type { ProxyTrust } from "../ground/net/client-address.ts";

/** All that pages and API are made from. */
export interface WebDeps extends ProxyTrust {
  store: AlertLog & ExpiringKeyStore & Signals;
  operations: Operations;
  adminToken: Secret;
  /**
   * How browsers reach the page, without a trailing slash: decides cookie flags and the origin that form posts must
   * have.
   */
  publicUrl: string;
  /** The whole address that senders post to. Shown only when somebody who is logged in asks for it. */
  hookUrl(): Secret;
  /** The same of each source. Default: there is none. */
  sourceHooks?(): { name: string; url: Secret }[];
  clock: Clock;
  newId: NewId;
  log: Log;
}
