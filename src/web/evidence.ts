import type { z } from "zod";
import { viewAlertDetail } from "../contract/make-views.ts";
import type { evidenceView } from "../contract/views/alerts.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WebDeps } from "./web-deps.ts";

export type Evidence = z.output<typeof evidenceView>;

/** The most alerts of the same key in the document. */
const mostKeyEvents = 100;

/**
 * Collects all that is known of one alert in one document. It shows later which alert came, how it was decided, and which
 * messages went out. It holds no credentials: the stored request has lost those of its headers, and messages and configuration
 * are named without any.
 */
export async function collectEvidence(deps: WebDeps, alert: AlertDetail): Promise<Evidence> {
  const { store, composeAgain, configurationHash, version = "unknown", publicUrl, clock } = deps;
  const { events, hasOlder } = await store.keyHistory(alert.id, mostKeyEvents);
  return {
    madeAt: clock.now(),
    relay: { version, url: publicUrl, configurationSha256: configurationHash ?? null },
    alert: viewAlertDetail(alert, deps),
    messages: composeAgain?.(alert) ?? [],
    sameKey: { isAll: !hasOlder && events.length < mostKeyEvents / 2, alerts: events },
  };
}
