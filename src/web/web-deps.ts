import type { z } from "zod";
import type { ChartPoint } from "../charts/series.ts";
import type { ViewContext } from "../contract/make-views.ts";
import type { Operations } from "../contract/operations.ts";
import type { evidenceView } from "../contract/views/alerts.ts";
import type { Clock } from "../core/clock.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import type { DrawAlertPicture } from "../core/ports/alert-picture.ts";
import type { ExpiringKeyStore, SharedAllowances } from "../core/ports/shared.ts";
import type { Signals } from "../core/ports/signals.ts";
import type { Secret } from "../core/secret.ts";
import type { Tally } from "../core/tally.ts";
import type { ProxyTrust } from "../ground/net/client-address.ts";
import type { TokenCheck } from "./access/token-check.ts";

/** What people read of an alert at one destination. */
export type ComposedMessage = z.output<typeof evidenceView>["messages"][number];

/** All that pages and API are made from. `publicUrl` decides cookie flags and the origin that form posts must have. */
export interface WebDeps extends ProxyTrust, ViewContext {
  store: AlertLog & ExpiringKeyStore & Partial<SharedAllowances> & Signals & Pick<Administration, "capabilities">;
  operations: Operations;
  adminToken: Secret;
  /** Checks the token of all that is asked with the admin token. */
  tokenCheck: TokenCheck;
  /** The whole address that senders post to. Shown only when somebody who is logged in asks for it. */
  hookUrl(): Secret;
  /** The hook of each source. Default: there is none. */
  sourceHooks?(): { name: string; url: Secret }[];
  /** The messages of an alert, made again from what is stored; none for deliveries that are muted. Default: none. */
  composeAgain?(alert: AlertDetail): ComposedMessage[];
  /** What routes, mutes and causes of another file would have made of the newest 10,000 alerts since then. Default: nothing is tried. */
  tryFile?(text: string, from: number): Promise<Tally>;
  /**
   * The last seven days of a metric at the market-data service; undefined when it does not say. Never rejects. Default:
   * no service is configured.
   */
  metricHistory?(key: string): Promise<readonly ChartPoint[] | undefined>;
  /** See `MarketContext`. Default: nothing is said of the market. */
  market?: {
    describe(alertId: string, options: { deadlineMs: number }): Promise<string | undefined>;
    known(alert: AlertDetail): string | undefined;
  };
  /** Makes a picture a PNG; undefined when it cannot be made now. Never rejects. Default: none is made. */
  toPng?(svg: string): Promise<Uint8Array | undefined>;
  /** Draws what signed addresses of pictures show. Default: there are no such addresses. */
  drawPicture?: DrawAlertPicture;
  /** Somebody has fetched the picture of an alert by the address in a message; `tag` says whose, see `PictureName`. */
  notePictureFetched?(alertId: string, tag: string): void;
  /** The version of the relay. Default: `unknown`. */
  version?: string;
  /** Names the configuration in force: SHA-256, hexadecimal, of all of it but its secrets. Default: it is not said. */
  configurationHash?: string;
  clock: Clock;
  newId: NewId;
  log: Log;
}
