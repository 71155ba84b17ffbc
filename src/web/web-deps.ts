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

export type ComposedMessage = z.output<typeof evidenceView>["messages"][number];

/** `publicUrl` decides cookie flags and the origin of forms. */
export interface WebDeps extends ProxyTrust, ViewContext {
  store: AlertLog & ExpiringKeyStore & Partial<SharedAllowances> & Signals & Pick<Administration, "capabilities">;
  operations: Operations;
  adminToken: Secret;
  tokenCheck: TokenCheck;
  /** The whole address for senders. Shown only on request to a logged-in reader. */
  hookUrl(): Secret;
  /** The hook of each source. Default: there are no sources. */
  sourceHooks?(): { name: string; url: Secret }[];
  /** Composes the messages of a stored alert again. None for muted deliveries. Default: none. */
  composeAgain?(alert: AlertDetail): ComposedMessage[];
  /** Tries routes, mutes and causes of another file on the newest 10,000 alerts since `from`. Default: no try. */
  tryFile?(text: string, from: number): Promise<Tally>;
  /** A metric's last seven days. Undefined without an answer. Never rejects. Default: there is no service. */
  metricHistory?(key: string): Promise<readonly ChartPoint[] | undefined>;
  /** See `MarketContext`. Default: no market lines. */
  market?: {
    describe(alertId: string, options: { deadlineMs: number }): Promise<string | undefined>;
    known(alert: AlertDetail): string | undefined;
  };
  /** Converts a picture to PNG. Undefined when that is not possible now. Never rejects. Default: no PNG. */
  toPng?(svg: string): Promise<Uint8Array | undefined>;
  /** Draws the pictures of signed addresses. Default: there are no such addresses. */
  drawPicture?: DrawAlertPicture;
  /** Called when an alert's picture was fetched by a signed address. `tag`: the destination, see `PictureName`. */
  notePictureFetched?(alertId: string, tag: string): void;
  version?: string;
  /** SHA-256 of the configuration in force without its secrets, hexadecimal. Default: not shown. */
  configurationHash?: string;
  clock: Clock;
  newId: NewId;
  log: Log;
}
