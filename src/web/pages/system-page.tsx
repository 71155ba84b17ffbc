import type { Hono } from "hono";
import type { StatusView, SystemView } from "../../core/operations.ts";
import { describeRetention } from "../../core/ports/retention.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, verdictTones } from "./delivery-chips.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Layout, LogOut, Notice } from "./layout.tsx";
import { Relays } from "./relays-section.tsx";

/** `GET /system`: versions, the configuration in force, throughput, disk with a forecast, and each part's health. */
export function addSystemPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/system", async (c) => {
    const [status, system] = await Promise.all([deps.operations.status(), deps.operations.system()]);
    return c.render(<SystemPage frame={frameOf(c, deps)} status={status} system={system} />);
  });
}

function SystemPage({ frame, status, system }: { frame: Frame; status: StatusView; system: SystemView }) {
  const { relay, alerts, queue, disk, retention, account } = status;
  const { configuration, accepted, growth, parts } = system;
  const { now } = frame;
  const count = (number: number) => number.toLocaleString("en-US");
  return (
    <Layout frame={frame} at="/system">
      {configuration.onDisk === "differs" && (
        <Notice kind="warning">
          <code>{configuration.file}</code> has changed since the start and is not in force. <code>tocsin check</code>,
          then restart Tocsin.
        </Notice>
      )}
      {configuration.onDisk === "gone" && (
        <Notice kind="failed">
          <code>{configuration.file}</code> cannot be read any more: the next start fails.
        </Notice>
      )}
      {!relay.ready && <Notice kind="failed">Not ready: {relay.reasons.join("; ")}.</Notice>}
      <section aria-labelledby="parts-title">
        <h2 id="parts-title">Parts</h2>
        <ul class="parts">
          {parts.map(({ name, verdict, detail }) => (
            <li>
              <Chip tone={verdictTones[verdict]}>{name}</Chip> <span dir="auto">{detail}</span>
            </li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="relays-title">
        <h2 id="relays-title">Relays</h2>
        <Relays relays={status.relays} now={now} hearing={relay.hearing} />
      </section>
      <section aria-labelledby="load-title">
        <h2 id="load-title">Alerts accepted</h2>
        <dl class="facts">
          <dt>Last minute</dt>
          <dd>{count(accepted.minute)}</dd>
          <dt>Last hour</dt>
          <dd>{count(accepted.hour)}</dd>
          <dt>Last day</dt>
          <dd>{count(accepted.day)}</dd>
          <dt>Kept</dt>
          <dd>
            {count(alerts.kept)} of {count(alerts.total)}, for {describeRetention(retention)} (<code>retention</code> in
            the configuration)
            {alerts.oldestReceivedAt !== undefined && (
              <>
                , the oldest <Instant at={alerts.oldestReceivedAt} now={now} show="relative" />
              </>
            )}
          </dd>
          <dt>Not routed yet</dt>
          <dd>
            {count(queue.unrouted)}
            {queue.oldestUnroutedAt !== undefined && (
              <>
                , the oldest <Instant at={queue.oldestUnroutedAt} now={now} show="relative" />
              </>
            )}
          </dd>
          {relay.unreadableAlerts > 0 && (
            <>
              <dt>Unreadable</dt>
              <dd>{count(relay.unreadableAlerts)} since the start, sent as received</dd>
            </>
          )}
        </dl>
      </section>
      <section aria-labelledby="disk-title">
        <h2 id="disk-title">Disk</h2>
        <dl class="facts">
          <dt>The log takes</dt>
          <dd>{formatBytes(disk.databaseBytes)}</dd>
          {disk.freeBytes !== undefined && (
            <>
              <dt>Free</dt>
              <dd>{formatBytes(disk.freeBytes)}</dd>
            </>
          )}
          {growth !== undefined && (
            <>
              <dt>Grows by</dt>
              <dd>about {formatBytes(growth.bytesPerDay)} a day, going on as in the last one</dd>
            </>
          )}
          <dt>Forecast</dt>
          <dd>{describeForecast(growth, disk.freeBytes !== undefined)}</dd>
        </dl>
      </section>
      <section aria-labelledby="process-title">
        <h2 id="process-title">Process</h2>
        <dl class="facts">
          <dt>Tocsin</dt>
          <dd>{relay.version}</dd>
          <dt>Node.js</dt>
          <dd>{system.nodeVersion}</dd>
          <dt>Started</dt>
          <dd>
            <Instant at={relay.startedAt} now={now} />, up {formatDuration(relay.uptimeMs)}
          </dd>
          <dt>Public address</dt>
          <dd>{account.publicUrl ?? "PUBLIC_URL is not set, so there is no address to give to senders"}</dd>
          <dt>Configuration</dt>
          <dd>
            {configuration.file === undefined ? (
              "the environment alone, no file"
            ) : (
              <>
                <code>{configuration.file}</code> ({configuration.hash}), {onDiskWords[configuration.onDisk]}
              </>
            )}
          </dd>
          <dt>Metrics</dt>
          <dd>
            <code>GET /metrics</code> with the admin token, for Prometheus
          </dd>
        </dl>
      </section>
      <section aria-labelledby="browser-title">
        <h2 id="browser-title">This browser</h2>
        <LogOut frame={frame} />
      </section>
      <p class="soft">
        <code>tocsin status</code> and <code>GET /api/status</code> say the same; <code>tocsin doctor</code> also asks
        the alerting service and each destination.
      </p>
    </Layout>
  );
}

const onDiskWords: Record<SystemView["configuration"]["onDisk"], string> = {
  same: "the same as on disk",
  differs: "changed on disk since",
  gone: "gone from the disk",
  none: "",
};

function describeForecast(growth: SystemView["growth"], isKnown: boolean): string {
  if (growth === undefined) return "not known yet: that takes 1,000 alerts";
  const { fullInDays, heldByRetention } = growth;
  if (!isKnown) return "not known: the database is another machine's";
  if (heldByRetention) return "does not fill: as much is removed before";
  if (fullInDays === undefined) return "not full within ten years";
  return fullInDays < 1 ? "full within a day" : `full in about ${fullInDays.toLocaleString("en-US")} days`;
}
